"""The program on a volunteer's machine. Python 3.9, standard library only, and nothing of Hemeroteca but the address
guard: it is packed into one file (`fleet.zipapp`). It executes nothing it receives and never updates itself.

    startup           options, first start, Ctrl-C
    stages            the worker: three stages that never wait for each other: ask, fetch, return
    work_in_hand      blocks, URLs and hosts a device has;  throughput: how much it does, and how much more it wants
    coordinator_link  what is said to the coordinator
    http_requests     requests with the standard library, behind the guard
    result_file       what sites answered, as a compressed WARC
    caps              how much of the machine is lent
    working_conditions  battery, busy machine, network that lies, sites that refuse
    consent           what the owner agreed to, in typed words
    load_generator    a part in a load test
    status_page       the loopback page: what happens now, and Stop
"""
