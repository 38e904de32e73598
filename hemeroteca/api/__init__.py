"""The API for programs: REST under /api/v1 with an OpenAPI description, bearer tokens and problem+json errors.

It only translates: every answer comes from a service or query of the room that owns the thing.

    app        the NinjaAPI object: which router stands where
    access     who may call an operation
    problems   errors as RFC 9457 problem details, whatever raised them
    paging     cursors
"""
