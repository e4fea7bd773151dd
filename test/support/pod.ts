// Pods as test-node.ts reads them from the API server. It rejects fields that it does not implement, so that no
// manifest passes with an untested setting.

/** An HTTP probe with its defaults left out, as the API server fills them in. */
export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: number | string }
  readonly periodSeconds: number
  readonly timeoutSeconds: number
  readonly failureThreshold: number
  readonly initialDelaySeconds?: number
}

/** A part of a projected volume. */
export interface Projection {
  readonly serviceAccountToken?: {
    readonly path: string
    readonly expirationSeconds: number
    readonly audience?: string
  }
  readonly configMap?: {
    readonly name: string
    readonly items: readonly { readonly key: string; readonly path: string }[]
  }
  readonly downwardAPI?: { readonly items: readonly (FieldRef & { readonly path: string })[] }
}

/** Reads a value from the pod itself. */
export interface FieldRef {
  readonly fieldRef: { readonly fieldPath: string }
}

/** A volume: an emptyDir, or files projected from other objects. */
export interface Volume {
  readonly name: string
  readonly emptyDir?: object
  readonly projected?: { readonly sources: readonly Projection[] }
}

/** The privileges of a container. */
export interface SecurityContext {
  readonly runAsNonRoot?: boolean
  readonly runAsUser?: number
  readonly runAsGroup?: number
  /** Of a pod: the group of its volumes. */
  readonly fsGroup?: number
  readonly seccompProfile?: { readonly type: string }
  readonly allowPrivilegeEscalation?: boolean
  readonly readOnlyRootFilesystem?: boolean
  readonly capabilities?: { readonly drop?: readonly string[] }
}

/** A container of a pod. */
export interface Container {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly {
    readonly name: string
    readonly value?: string
    readonly valueFrom?: FieldRef
  }[]
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[]
  readonly resources?: {
    readonly limits?: Readonly<Record<string, string>>
    readonly requests?: Readonly<Record<string, string>>
  }
  readonly volumeMounts?: readonly {
    readonly name: string
    readonly mountPath: string
    readonly readOnly?: boolean
  }[]
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } }
  readonly securityContext?: SecurityContext
}

/** A pod of one container. */
export interface Pod {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly deletionTimestamp?: string
    readonly deletionGracePeriodSeconds?: number
  }
  readonly spec: {
    readonly containers: readonly [Container]
    readonly volumes?: readonly Volume[]
    readonly serviceAccountName: string
    /** `Never` = it runs once, such as a test of Helm; any other restarts it. */
    readonly restartPolicy?: string
    readonly nodeName?: string
    readonly securityContext?: SecurityContext
  }
}

/** Fields that the test node implements, and fields without effect on a single node without DNS. */
const KNOWN = {
  spec: `containers volumes serviceAccountName serviceAccount nodeName securityContext restartPolicy
    terminationGracePeriodSeconds enableServiceLinks dnsPolicy schedulerName tolerations priority
    preemptionPolicy topologySpreadConstraints automountServiceAccountToken`,
  container: `name image command args env ports resources volumeMounts startupProbe livenessProbe
    readinessProbe lifecycle securityContext imagePullPolicy terminationMessagePath
    terminationMessagePolicy`,
  probe: `httpGet periodSeconds timeoutSeconds failureThreshold initialDelaySeconds successThreshold`,
  httpGet: 'path port scheme',
  security: `runAsNonRoot runAsUser runAsGroup fsGroup seccompProfile allowPrivilegeEscalation
    readOnlyRootFilesystem capabilities`,
  capabilities: 'drop',
  lifecycle: 'preStop',
  preStop: 'sleep',
  volume: 'name emptyDir projected',
  projection: 'serviceAccountToken configMap downwardAPI',
  limits: 'memory cpu',
} as const

/** Fields of a pod that the test node does not implement. */
export function unknownFields({ spec }: Pod): readonly string[] {
  const [container] = spec.containers
  const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe]
  const contexts = [spec.securityContext, container.securityContext]
  return [
    ...(spec.containers.length === 1 ? [] : ['a second container']),
    ...besides('spec', spec),
    ...besides('container', container),
    ...probes.flatMap((probe) => besides('probe', probe)),
    ...probes.flatMap((probe) => besides('httpGet', probe?.httpGet)),
    ...contexts.flatMap((context) => besides('security', context)),
    ...contexts.flatMap((context) => besides('capabilities', context?.capabilities)),
    ...besides('lifecycle', container.lifecycle),
    ...besides('preStop', container.lifecycle?.preStop),
    ...(spec.volumes ?? []).flatMap((volume) => besides('volume', volume)),
    ...(spec.volumes ?? [])
      .flatMap(({ projected }) => projected?.sources ?? [])
      .flatMap((source) => besides('projection', source)),
    ...besides('limits', container.resources?.limits),
  ]
}

function besides(what: keyof typeof KNOWN, value: object | undefined): readonly string[] {
  const known = new Set(KNOWN[what].split(/\s+/))
  return Object.keys(value ?? {})
    .filter((name) => !known.has(name))
    .map((name) => `${what}.${name}`)
}

/** The value of a field path of the downward API. @throws Error when it is not supported */
export function fieldOf({ metadata, spec }: Pod, { fieldRef }: FieldRef): string {
  const values: Readonly<Record<string, string | undefined>> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'metadata.uid': metadata.uid,
    'spec.nodeName': spec.nodeName,
    'spec.serviceAccountName': spec.serviceAccountName,
  }
  const value = values[fieldRef.fieldPath]
  if (value === undefined) throw new Error(`this node does not know ${fieldRef.fieldPath}`)
  return value
}

/** The number of a container's port by name or number. */
export function portOf({ name, ports = [] }: Container, port: number | string): number {
  const found = ports.find((one) => one.name === port || one.containerPort === port)
  if (found === undefined) throw new Error(`container ${name} has no port ${port}`)
  return found.containerPort
}
