def detect(text: str, declared: str) -> str:
    return declared[:2]
