"""Prints what hvac gets from a store of secrets, one line of JSON per step: kv-store.py <address> <CA file> <token>."""

import json
import sys

import hvac

address, ca_file, token = sys.argv[1:]
client = hvac.Client(url=address, token=token, verify=ca_file)
kv1, kv2 = client.secrets.kv.v1, client.secrets.kv.v2
PATH = "shop/python"


def step(what, act):
    """Prints the result, or the kind of a refusal and its messages."""
    try:
        result = act()
    except hvac.exceptions.VaultError as error:
        result = [type(error).__name__, error.errors]
    print(json.dumps([what, result]), flush=True)


def write(cas, **data):
    answer = kv2.create_or_update_secret(PATH, secret=data, cas=cas)
    return answer["data"]["version"]


def read():
    data = kv2.read_secret_version(PATH, raise_on_deleted_version=False)["data"]
    return [data["data"], data["metadata"]["version"], data["metadata"]["deletion_time"] != ""]


def metadata():
    data = kv2.read_secret_metadata(PATH)["data"]
    return [data["current_version"], sorted(data["versions"]), data["custom_metadata"]]


def life(answer):
    return [answer["renewable"], answer["policies"]]


step("read", read)
step("create", lambda: write(0, user="ada"))
step("create again", lambda: write(0, user="eve"))
step("name", lambda: kv2.update_metadata(PATH, custom_metadata={"owner": "hvac"}).status_code)
step("replace", lambda: write(1, user="grace"))
step("read", read)
step("metadata", metadata)
step("delete", lambda: kv2.delete_latest_version_of_secret(PATH).status_code)
step("read", read)
step("write 1", lambda: kv1.create_or_update_secret(PATH, {"user": "ada"}, mount_point="kv1").status_code)
step("read 1", lambda: kv1.read_secret(PATH, mount_point="kv1")["data"])
step("elsewhere", lambda: kv1.read_secret(PATH, mount_point="nowhere"))
step("lookup", lambda: life(client.auth.token.lookup_self()["data"]))
step("renew", lambda: life(client.auth.token.renew_self(increment="5m")["auth"]))
step("revoke", lambda: client.auth.token.revoke_self().status_code)
step("lookup", lambda: client.auth.token.lookup_self())
