# The wheel is built in one stage and installed in the other, so that the image has no sources and no build tools.
#   docker build -t corefsample .
#   docker run --rm -v "$PWD/out:/data" corefsample demo --out demo
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY corefsample corefsample
COPY events events
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
# Compiled kernels belong to the image: a container starts with them, whoever runs it.
ENV NUMBA_CACHE_DIR=/opt/corefsample/kernels \
    MPLCONFIGDIR=/opt/corefsample/matplotlib \
    PYTHONUNBUFFERED=1
COPY --from=build /wheels /wheels
RUN python -m pip install --no-cache-dir "$(ls /wheels/corefsample-*.whl)[report,dask]" \
    && rm -r /wheels \
    && useradd --create-home analyst \
    && mkdir -p /opt/corefsample /data \
    && chown analyst /opt/corefsample /data
USER analyst
# NUMBA_CPU_NAME=generic at build and run time makes kernels that any processor of the architecture can use; without it
# they fit the processor of the building machine, and another kind compiles once more.
RUN corefsample warm-up && chmod -R a+rwX /opt/corefsample
WORKDIR /data
ENTRYPOINT ["corefsample"]
CMD ["demo", "--out", "corefsample-demo"]
