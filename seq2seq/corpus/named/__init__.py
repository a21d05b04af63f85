"""Text that is fetched by its name, once, and kept.

conf/corpora.yaml and a user's own say which names there are, what they are made of, and under which terms.

    catalogue.py        that file as objects, and what is wrong with it
    download.py         one address to one file: resumes, tries again, checks
    library.py          where all of it is kept, for one process or many, and how it comes there
    unpack.py           members of an archive, and nothing else of it
    parts.py            corpus:NAME/PART, made of downloads by the recipe of the catalogue
    test_sets.py, opus.py, addresses.py, hugging_face.py    the other names
    fetch.py            the sources of a configuration to files: start reading here
    found.py            what there is for two languages
"""
