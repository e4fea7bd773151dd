// The types of the fields of the synced kinds, as the API server has them (contract 19.3).
import type { PatchPath } from './path.ts'

/** The type of a value that holds no other. */
export type LeafType = 'text' | 'boolean' | 'int32' | 'int64' | 'base64' | 'time' | 'int32 or text'

/** The type of a field: of a leaf, a list, a map with keys of a user's choice, or a struct with known fields. */
export type FieldType =
  | LeafType
  | { readonly list: FieldType }
  | { readonly map: FieldType }
  | { readonly fields: Readonly<Record<string, FieldType>> }

const TEXTS: FieldType = { list: 'text' }
const TEXT_MAP: FieldType = { map: 'text' }
const BYTES_MAP: FieldType = { map: 'base64' }

/** Without the fields that no patch moves (contract 19.6). */
const METADATA: FieldType = {
  fields: {
    annotations: TEXT_MAP,
    creationTimestamp: 'time',
    deletionGracePeriodSeconds: 'int64',
    deletionTimestamp: 'time',
    generateName: 'text',
    labels: TEXT_MAP,
    selfLink: 'text',
  },
}

const ADDRESSES: FieldType = {
  list: {
    fields: {
      hostname: 'text',
      ip: 'text',
      nodeName: 'text',
      targetRef: {
        fields: {
          apiVersion: 'text',
          fieldPath: 'text',
          kind: 'text',
          name: 'text',
          namespace: 'text',
          resourceVersion: 'text',
          uid: 'text',
        },
      },
    },
  },
}

const SUBSETS: FieldType = {
  list: {
    fields: {
      addresses: ADDRESSES,
      notReadyAddresses: ADDRESSES,
      ports: {
        list: { fields: { appProtocol: 'text', name: 'text', port: 'int32', protocol: 'text' } },
      },
    },
  },
}

const SERVICE_SPEC: FieldType = {
  fields: {
    allocateLoadBalancerNodePorts: 'boolean',
    clusterIP: 'text',
    clusterIPs: TEXTS,
    externalIPs: TEXTS,
    externalName: 'text',
    externalTrafficPolicy: 'text',
    healthCheckNodePort: 'int32',
    internalTrafficPolicy: 'text',
    ipFamilies: TEXTS,
    ipFamilyPolicy: 'text',
    loadBalancerClass: 'text',
    loadBalancerIP: 'text',
    loadBalancerSourceRanges: TEXTS,
    ports: {
      list: {
        fields: {
          appProtocol: 'text',
          name: 'text',
          nodePort: 'int32',
          port: 'int32',
          protocol: 'text',
          targetPort: 'int32 or text',
        },
      },
    },
    publishNotReadyAddresses: 'boolean',
    selector: TEXT_MAP,
    sessionAffinity: 'text',
    sessionAffinityConfig: {
      fields: { clientIP: { fields: { timeoutSeconds: 'int32' } } },
    },
    trafficDistribution: 'text',
    type: 'text',
  },
}

const SERVICE_STATUS: FieldType = {
  fields: {
    conditions: {
      list: {
        fields: {
          lastTransitionTime: 'time',
          message: 'text',
          observedGeneration: 'int64',
          reason: 'text',
          status: 'text',
          type: 'text',
        },
      },
    },
    loadBalancer: {
      fields: {
        ingress: {
          list: {
            fields: {
              hostname: 'text',
              ip: 'text',
              ipMode: 'text',
              ports: { list: { fields: { error: 'text', port: 'int32', protocol: 'text' } } },
            },
          },
        },
      },
    },
  },
}

const ofKind = (fields: Readonly<Record<string, FieldType>>): FieldType => ({
  fields: { metadata: METADATA, ...fields },
})

/** By kind, as in manifests. */
const KINDS: ReadonlyMap<string, FieldType> = new Map([
  ['Endpoints', ofKind({ subsets: SUBSETS })],
  ['Service', ofKind({ spec: SERVICE_SPEC, status: SERVICE_STATUS })],
  ['Secret', ofKind({ data: BYTES_MAP, immutable: 'boolean', stringData: TEXT_MAP, type: 'text' })],
  ['ConfigMap', ofKind({ binaryData: BYTES_MAP, data: TEXT_MAP, immutable: 'boolean' })],
])

const ANY_KIND = ofKind({})

/** The type of a whole object, without kind, API version, and what no patch moves; of another kind, of its metadata. */
export const objectType = (kind: string): FieldType => KINDS.get(kind) ?? ANY_KIND

/** The type of all fields that a path can name; null = it is not known, or not one. */
export function typeAt(kind: string, path: PatchPath): FieldType | null {
  let type: FieldType | undefined = objectType(kind)
  for (const segment of path) {
    if (typeof type !== 'object') return null
    if ('list' in type) type = type.list
    else if ('map' in type) type = type.map
    else type = segment.kind === 'name' ? ownType(type.fields, segment.name) : undefined
  }
  return type ?? null
}

/** The type of a field of a struct; undefined = the API server does not know it. */
export const ownType = (
  fields: Readonly<Record<string, FieldType>>,
  name: string,
): FieldType | undefined => (Object.hasOwn(fields, name) ? fields[name] : undefined)
