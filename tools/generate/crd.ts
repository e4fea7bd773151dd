// The parts of a CustomResourceDefinition that the generator reads.

import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** The part of a structural schema that types and the reference are made from. */
export interface Schema {
  readonly title?: string
  readonly description?: string
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'boolean'
  readonly format?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema
  readonly items?: Schema
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-validations'?: readonly Validation[]
}

/** A rule in CEL, as far as people meet it. */
export interface Validation {
  readonly message: string
  /** The field that the API server names in the error, such as `.key`; absent: the field itself. */
  readonly fieldPath?: string
}

/** One kind with the schemas of its two halves. */
export interface Kind {
  readonly kind: string
  readonly description: string
  readonly spec: Schema
  readonly status: Schema
}

interface CustomResourceDefinition {
  readonly spec: {
    readonly names: { readonly kind: string }
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[]
  }
}

/** Reads one CRD file. A YAML anchor and its aliases give one object. */
export function readKind(path: string): Kind {
  const crd = parse(readFileSync(path, 'utf8')) as CustomResourceDefinition
  const schema = crd.spec.versions[0]?.schema.openAPIV3Schema
  const { spec, status } = schema?.properties ?? {}
  if (!schema?.description || !spec || !status)
    throw new Error(`${path}: the first version needs a schema with description, spec and status`)
  return { kind: crd.spec.names.kind, description: schema.description, spec, status }
}
