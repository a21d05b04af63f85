"""What is inside a model: pages, pictures and numbers of its attention"""
