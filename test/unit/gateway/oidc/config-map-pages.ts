// ConfigMaps that public pages are made from, and texts of their responses.
import { CONFIG_MAPS } from '../../../../src/api/names.ts'
import type { KubeObject } from '../../../../src/api/objects.ts'
import type { Answer } from '../../../../src/serving/http/answer.ts'

let version = 0

/** The next version of the ConfigMap of that name. */
export function configMap(name: string, data: Readonly<Record<string, string>>): KubeObject {
  version += 1
  const metadata = {
    name,
    namespace: 'platform-system',
    uid: name,
    resourceVersion: String(version),
    creationTimestamp: '2026-11-21T10:00:00Z',
  }
  const object = { apiVersion: 'v1', kind: CONFIG_MAPS.kind, metadata, data }
  return object
}

/** The body of an answer. */
export const textOf = ({ body }: Answer): string => String(Buffer.isBuffer(body) && body.toString())

/** Status code and message of a failure. */
export const statusOf = (answer: Answer) => ({
  status: answer.status,
  message: JSON.parse(textOf(answer)).message,
})
