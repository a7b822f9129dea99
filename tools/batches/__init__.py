"""The batch APIs of others in front of this bundle: what they keep, the jobs that answer it, and each API's own shape.

`store.py` and what stands on it keep every state; `work.py` drives batches through a back-end, which runs the bundle's
own jobs and nothing else. A face is one API: it turns what a client sent into lines, and lines into what a client gets.
No face knows a back-end, and no back-end a face.
"""
