import { stringify } from 'yaml'
import type { CertificatePair } from '../../src/serving/tls/key-pair.ts'

/** URL and CA of an API server. */
export interface Cluster {
  readonly url: string
  readonly caPem: string
}

/** Credential of a client: a certificate, a token that it reads from a file, or a token inline. */
export type Credential =
  | CertificatePair
  | { readonly tokenFile: string }
  | { readonly token: string }

/** A kubeconfig, as YAML, with one cluster, one user and one context, all of the same name. */
export function kubeconfig(name: string, cluster: Cluster, credential: Credential): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: { server: cluster.url, 'certificate-authority-data': base64(cluster.caPem) },
      },
    ],
    users: [{ name, user: userOf(credential) }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  })
}

function userOf(credential: Credential): Readonly<Record<string, string>> {
  if ('tokenFile' in credential) return { tokenFile: credential.tokenFile }
  if ('token' in credential) return { token: credential.token }
  return {
    'client-certificate-data': base64(credential.certificatePem),
    'client-key-data': base64(credential.keyPem),
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
