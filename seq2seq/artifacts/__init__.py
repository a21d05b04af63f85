"""What a run leaves behind: each form on disk has one module, whose docstring draws it.

Read identity.py, run_directory.py, saved_model.py, checkpoint.py, model_directory.py, trained_model.py, in this order.
"""
