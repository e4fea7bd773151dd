// Lines of an audit log, as the gateway writes them.

/** A parsed event whose fields a test may replace. */
export type BuiltEvent = Readonly<Record<string, unknown>>

/** An event: ada reads a Secret of the cluster east by the key ci. */
export const auditEvent = (fields: BuiltEvent = {}): BuiltEvent => ({
  kind: 'Event',
  apiVersion: 'audit.k8s.io/v1',
  level: 'Metadata',
  auditID: 'b4f1d7c2-0000-4000-8000-000000000001',
  stage: 'ResponseComplete',
  requestURI: '/kubernetes/cluster/east/api/v1/namespaces/shop/secrets/db?pretty=true',
  verb: 'get',
  user: { username: 'ada', groups: ['system:authenticated'] },
  objectRef: { resource: 'secrets', namespace: 'shop', name: 'db', apiVersion: 'v1' },
  responseStatus: { metadata: {}, code: 200 },
  requestReceivedTimestamp: '2026-11-28T12:00:00.000000Z',
  stageTimestamp: '2026-11-28T12:00:00.250000Z',
  annotations: {
    'platform.sh/target': 'Cluster',
    'platform.sh/cluster': 'east',
    'platform.sh/access-key': 'ci',
    'platform.sh/key-id': 'k1',
  },
  ...fields,
})

/** The line of an event. */
export const auditLine = (fields: BuiltEvent = {}): string => JSON.stringify(auditEvent(fields))

/** An event of this number: a second after the one before it, with an auditID of its own. */
export const numberedEvent = (number: number, fields: BuiltEvent = {}): BuiltEvent =>
  auditEvent({
    auditID: `id-${number}`,
    stageTimestamp: new Date(Date.UTC(2026, 10, 28, 12) + number * 1000)
      .toISOString()
      .replace('Z', '000Z'),
    ...fields,
  })

/** The lines of the events of these numbers, each with a line feed. */
export const numberedLines = (first: number, count: number, fields: BuiltEvent = {}): string =>
  Array.from(
    { length: count },
    (_, at) => `${JSON.stringify(numberedEvent(first + at, fields))}\n`,
  ).join('')
