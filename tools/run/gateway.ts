// How the tour of `make run` gets to the gateway: a kubeconfig for each of a few sample keys.
import { join } from 'node:path'
import { replaceFile } from '../control-plane/exclusive-file.ts'
import { kubeconfig } from '../control-plane/kubeconfig.ts'

/** Where the gateway is, and who signed its certificate. */
export interface GatewayAddress {
  /** The folder of `make run`. */
  readonly home: string
  readonly port: number
  /** PEM. */
  readonly caPem: string
}

/** Sample keys that the tour calls with. */
export const TOUR_KEYS = ['laptop-cli', 'ci-scoped'] as const

/** One of TOUR_KEYS. */
export type TourKey = (typeof TOUR_KEYS)[number]

/** Path of the kubeconfig with that key. */
export const tourKubeconfig = (home: string, key: TourKey): string =>
  join(home, `${key}.kubeconfig`)

/** Writes a kubeconfig with a key that opens the management cluster through the gateway. */
export async function writeTourKubeconfig(
  { home, port, caPem }: GatewayAddress,
  key: TourKey,
  secret: string,
): Promise<void> {
  const url = `https://127.0.0.1:${port}/kubernetes/management`
  const tokenFile = join(home, `${key}.key`)
  await replaceFile(tokenFile, secret)
  await replaceFile(tourKubeconfig(home, key), kubeconfig(key, { url, caPem }, { tokenFile }))
}
