# SPDX-License-Identifier: MIT
# kind: package manager: a virtual environment; builds, installs and runs a wheel with a C module
# packages: python3-venv python3-dev python3-pip python3-setuptools python3-wheel gcc
# users: root nobody
# leave: *.pyc *__pycache__* .cache/* *RECORD */direct_url.json
# same: /sha256=\w+/sha256/
# same: /pip-ephem-wheel-cache-\w+/CACHE/
# same: /(size|filename)=.*//
prepare() {
    mkdir -p source/small
    echo 'from setuptools import setup, Extension
setup(name="small", version="1.0", packages=["small"], ext_modules=[Extension("small.fast", ["fast.c"])])' \
        >source/setup.py
    echo 'from small.fast import answer' >source/small/__init__.py
    cat >source/fast.c <<'END'
#include <Python.h>
static PyObject *answer(PyObject *self, PyObject *args) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "fast", "", -1, methods};
PyMODINIT_FUNC PyInit_fast(void) { return PyModule_Create(&module); }
END
}
program() {
    unset PYTHONPATH
    export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 SOURCE_DATE_EPOCH=1700000000
    /usr/bin/python3 -m venv --system-site-packages env || return
    env/bin/pip install --no-index --no-build-isolation --no-compile ./source
    env/bin/python -c 'import small; print(small.answer())'
    env/bin/pip list 2>&1 | grep small
}
