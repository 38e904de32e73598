"""`hemeroteca worker`: lends this machine to a fleet. The options are those of the single-file worker."""

from typing import Annotated

import typer

Flag = typer.Option


def worker(
    server: Annotated[str, Flag(help="Address of the coordinator.")],
    token: Annotated[str, Flag(help="Token of this device; others on this machine may see it.")] = "",
    token_file: Annotated[str, Flag(help="File that holds the token.")] = "",
    code: Annotated[str, Flag(help="One-time code instead of a token; the token is kept in --state.")] = "",
    state: Annotated[str, Flag(help="Folder for what is remembered; default: ~/.hemeroteca-worker.")] = "",
    consent: Annotated[str, Flag(help="Activities agreed to: crawls,clients,vantage,load.")] = "",
    categories: Annotated[str, Flag(help="Kinds of pages others may ask for: general,news,politics,…")] = "",
    allow_private: Annotated[
        bool, Flag("--allow-private", help="Laboratories only: private addresses, any port.")
    ] = False,
    allow_network: Annotated[
        list[str] | None, Flag(help="Laboratories only: exactly this network is open, any port.")
    ] = None,
    insecure: Annotated[
        bool, Flag("--insecure", help="Laboratories only: any certificate of the coordinator.")
    ] = False,
    parallel: Annotated[int, Flag(min=1, max=128, help="Requests under way at once.")] = 8,
    page_port: Annotated[int, Flag(min=0, max=65535, help="Port of the page on this machine; 0 picks one.")] = 0,
    bytes_per_second: Annotated[int, Flag(min=0, help="Bandwidth; 0: no limit.")] = 0,
    bytes_per_month: Annotated[int, Flag(min=0, help="Data; 0: no limit.")] = 0,
    disk_bytes: Annotated[int, Flag(min=0, help="Of results that wait for their upload.")] = 256 << 20,
    hours: Annotated[str, Flag(help="Only between these, local time: 22-7.")] = "",
    min_delay: Annotated[float, Flag(min=0, help="Seconds between two requests to one host, at least.")] = 0.5,
    cpu_percent: Annotated[int, Flag(min=0, max=100, help="Processor time, of one core; 0: no limit.")] = 0,
    per_network: Annotated[int, Flag(min=0, help="Requests under way to one public network; 0: any.")] = 4,
    max_load: Annotated[
        float | None, Flag(min=0, help="No work while the load per core is above; 0: never mind. [default: 2]")
    ] = None,
    on_battery: Annotated[bool, Flag("--on-battery", help="Work on battery too.")] = False,
    on_metered: Annotated[bool, Flag("--on-metered", help="Work on a network paid by volume too.")] = False,
) -> None:
    """Lend this machine to a fleet. Ctrl-C stops it without loss."""
    given = dict(locals())
    from hemeroteca.fleet import curl_worker

    arguments: list[str] = []
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(flag)
        elif isinstance(value, list):
            arguments += [word for one in value for word in (flag, one)]
        elif value is not None and value is not False and value != "":  # 0 is a wish
            arguments += [flag, str(value)]
    curl_worker.main(arguments)
