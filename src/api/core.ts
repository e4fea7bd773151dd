// The core kinds that this program uses, with the fields that it reads.
import type { KubeObject } from './meta.ts'

/** A core ConfigMap. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

/** A core Secret; values are base64. */
export interface Secret extends KubeObject {
  readonly type?: string
  readonly data?: Readonly<Record<string, string>>
}
