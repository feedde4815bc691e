# docker build -t autograph . && docker run --rm -v "$PWD:/work" autograph render expr.py
# The first image has a C compiler, for the compiled modules.
FROM python:3.13 AS build
COPY pyproject.toml hatch_build.py README.md LICENSE /src/
COPY autograph_cli /src/autograph_cli
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel /src

FROM python:3.13-slim
COPY --from=build /wheel /wheel
RUN pip install --no-cache-dir "$(ls /wheel/*.whl)[formula]" && useradd --create-home autograph
USER autograph
WORKDIR /work
ENTRYPOINT ["autograph"]
CMD ["--help"]
