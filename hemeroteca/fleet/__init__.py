"""The fleet: people lend idle devices, and one polite crawler asks through all of them.

The engine leases visits from the frontier in *blocks*, writes each as one row, and a device takes it over HTTP from any
web process: coordination costs one row per block. The hosts of a block belong to it until it is returned or its
deadline has passed, so that the one limit per host holds over all devices and the engine. What comes back is checked by
the rules of trust, and goes the way of any other capture: ingest, archive, index.

    models, services      devices and their tokens, clients, closed hosts, settings: the only writer of these tables
    coordinator           what devices ask: connect, lease, renew, upload, give back, disconnect;  protocol: on the wire
    dispatch              what the engine asks: offer a block, take what came back, answers and verdicts
    fetches               what clients ask: jobs of URLs, their results, quotas, complaints, webhooks
    credit_ledger         who has earned and spent what, in double entry;  queries: reads for people
    trust                 how much of a device's work is checked (pure);  agreement: whether two answers say the same
    assignment            which device gets a block (pure);  trust_simulator: trust tried on invented devices
    vantage, load_tests   the same page from many places; load tests by whoever controls a site
    opt_out               hosts closed by whoever controls them;  geolocation: countries of addresses
    refusals              URLs that look like an attack (pure);  signatures: who we are, signed (Web Bot Auth)
    device                the program on a volunteer's machine, standard library only;  zipapp: the file of it
    curl_worker           the same program with libcurl, for `hemeroteca worker`
"""
