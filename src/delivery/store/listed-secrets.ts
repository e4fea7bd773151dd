// Which Secrets ask for the store: Secrets of project namespaces that let this process read them (contract 36.2).
import { NAMESPACES, SECRETS } from '../../api/names.ts'
import { SECRET_STORE_LABEL } from '../../api/secret-store-names.ts'
import { LONGEST_PATH, projectOf } from '../../domain/store/stored-secret.ts'
import { StatusError } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { listPages } from '../../kube/client/list.ts'
import { metadataPages } from '../../kube/client/namespace-content.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import { isRefusedNamespace } from '../claims/place.ts'
import type { ListedSecret } from './deps.ts'

/** Where Secrets are looked for. */
export interface SecretPlaces {
  readonly client: KubeClient
  readonly clientDeps: ClientDeps
  /** Namespaces that are never looked into. */
  readonly places: Parameters<typeof isRefusedNamespace>[1]
  readonly signal: AbortSignal
}

/** Namespaces of projects with the name of the project. @throws StatusError, NoResponseError */
export async function projectNamespaces(
  prefix: string,
  { client, places }: SecretPlaces,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for await (const page of listPages(client, NAMESPACES))
    for (const { metadata } of page) {
      const project = projectOf(metadata.name, prefix)
      if (project !== null && !isRefusedNamespace(metadata.name, places))
        found.set(metadata.name, project)
    }
  return found
}

const PAGE = 100
/** Further Secrets of a namespace do not count: one project must not take the time of all. */
const MOST_SECRETS = 1000

/**
 * The Secrets of a namespace with the label.
 *
 * @param direction only those with this value
 * @returns null = the namespace has not let this process in
 * @throws StatusError, NoResponseError
 */
export async function labelledSecrets(
  namespace: string,
  direction: 'Push' | null,
  { clientDeps, signal }: SecretPlaces,
): Promise<readonly ListedSecret[] | null> {
  const labelSelector =
    direction === null ? SECRET_STORE_LABEL : `${SECRET_STORE_LABEL}=${direction}`
  const found: ListedSecret[] = []
  try {
    const query = { namespace, labelSelector, limit: PAGE }
    for await (const page of metadataPages(clientDeps, SECRETS, query, signal)) {
      for (const { name, uid, resourceVersion, labels = {}, annotations = {} } of page)
        found.push({ name, namespace, uid, resourceVersion, ...ofTheStore(labels, annotations) })
      if (found.length >= MOST_SECRETS) return found.slice(0, MOST_SECRETS)
    }
    return found
  } catch (error) {
    if (error instanceof StatusError && error.code === 403) return null
    throw error
  }
}

type Texts = Readonly<Record<string, string>>

/** Others' annotations, which may be large, are not kept. */
const ofTheStore = (labels: Texts, annotations: Texts): { labels: Texts; annotations: Texts } => {
  const only = (texts: Texts): Texts =>
    Object.fromEntries(
      Object.entries(texts)
        .filter(([name]) => name.startsWith(SECRET_STORE_LABEL))
        .map(([name, text]) => [name, cut(text)]),
    )
  return { labels: only(labels), annotations: only(annotations) }
}

/** A text that is too long for a path stays so. It is copied: a part of a string keeps the whole in memory. */
const cut = (text: string): string =>
  text.length <= LONGEST_PATH
    ? text
    : Buffer.from(text.slice(0, LONGEST_PATH + 1), 'utf16le').toString('utf16le')
