"""The program `corefsample`, also as ``python -m events.commands``."""


def main() -> None:
    """Run the program, or say in one line what it lacks where only the engine is installed."""
    try:
        from events.commands._program import main as program
    except ModuleNotFoundError as error:
        from corefsample._lazy import explained

        raise SystemExit(f"corefsample: {explained(error, 'the command line')}") from None
    program()


if __name__ == "__main__":
    main()
