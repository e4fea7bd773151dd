import { expect, test } from 'vitest'
import type { InformerFactory } from '../../../src/kube/informer/informers.ts'
import { checkSyncConfig } from '../../../src/sync/config/config.ts'
import { startSources } from '../../../src/sync/sources.ts'
import { memoryLog } from '../../support/memory-log.ts'

/** Informers that have read the Secret of each name that is asked for. */
const startInformer =
  (labels: Readonly<Record<string, string>>): InformerFactory['startInformer'] =>
  (_, sink, { namespace = '', fieldSelector }) => {
    const name = fieldSelector?.split('=')[1]
    if (name !== undefined) {
      sink.begin()
      const metadata = { name, namespace, labels, uid: 'h1', resourceVersion: '1' }
      sink.put({ metadata, data: { password: 'Y2FuYXJ5' } } as never)
      sink.end()
    }
    return { relist: () => undefined, stop: () => undefined }
  }

test.each([
  { name: 'with the label', labels: { 'vcluster.platform.sh/import': 'vc' }, isKept: true },
  {
    name: 'of another virtual cluster',
    labels: { 'vcluster.platform.sh/import': 'other' },
    isKept: false,
  },
  { name: 'without the label', labels: {}, isKept: false },
])('data of a host object $name are kept: $isKept (19.5)', ({ labels, isKept }) => {
  const { config } = checkSyncConfig({})
  if (config === null) throw new Error('the configuration is valid')
  const place = { virtualCluster: 'vc', hostNamespace: 'host', namespaces: null }
  const { log } = memoryLog()
  const start = { virtual: startInformer({}), host: startInformer(labels), log }
  const { secrets } = startSources(config, place, start).candidates
  secrets.want({ namespace: 'host', name: 'db' })
  const found = JSON.stringify(secrets.getByKey('host/db'))
  expect(found).toContain('"name":"db"')
  expect(found.includes('Y2FuYXJ5')).toBe(isKept)
})
