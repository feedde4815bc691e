# docker build -t autograph . && docker run --rm -v "$PWD:/work" autograph render expr.py
FROM python:3.13-slim
COPY pyproject.toml README.md LICENSE /src/
COPY autograph_cli /src/autograph_cli
RUN pip install --no-cache-dir '/src[formula]' && rm -rf /src && useradd --create-home autograph
USER autograph
WORKDIR /work
ENTRYPOINT ["autograph"]
CMD ["--help"]
