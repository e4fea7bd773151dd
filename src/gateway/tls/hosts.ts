import { isIP } from 'node:net'

/** What may stand in a certificate as it is: no wildcard, and nothing that is printed in quotes. */
const HOST_NAME = /^[a-z0-9_]([a-z0-9._-]*[a-z0-9])?$/

/**
 * The hosts under which clients reach the gateway where nobody has given it a certificate: those of
 * the issuer and of the platform, this machine, and the Service `gateway` (contract 9.7).
 *
 * @param urls those that are known by now
 */
export function hostsOf(urls: readonly (string | null)[], namespace: string): readonly string[] {
  const named = urls.flatMap((url) => (url === null ? [] : hostOf(url)))
  const usable = named.filter((host) => isIP(host) !== 0 || HOST_NAME.test(host))
  const always = ['localhost', '127.0.0.1', '::1', 'gateway', `gateway.${namespace}.svc`]
  return [...new Set([...usable, ...always])]
}

const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '')
