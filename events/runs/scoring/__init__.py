"""The job of `score`: dated news or annotated corpora, which become files of scored mentions."""
