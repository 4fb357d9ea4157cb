"""The routes, one file a resource, and the sockets: what a client of the server can ask for.

Requests and socket messages of the network enter; answers leave, made by `Services`. No work is done here, and nothing of the server
calls a route, but for the app that registers it.
"""
