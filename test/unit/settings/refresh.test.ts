import { describe, expect, test } from 'vitest'
import type { Config } from '../../../src/api/config.gen.ts'
import { CONFIGS, CONFIG_MAPS } from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import type { KubeClient } from '../../../src/kube/client/client.ts'
import { Store, fullObject } from '../../../src/kube/informer/store.ts'
import { platformConfigMap, refreshSettings } from '../../../src/settings/follow.ts'

const CONFIG = 'platform-manager-config'
const RECORD = 'platform-config-in-force'

const config = (version: number, uid = 'c'): KubeObject => ({
  apiVersion: 'v1',
  kind: CONFIGS.kind,
  metadata: { name: CONFIG, uid, resourceVersion: String(version), creationTimestamp: '' },
})
const record = (version: number): KubeObject => ({
  apiVersion: 'v1',
  kind: CONFIG_MAPS.kind,
  metadata: {
    name: RECORD,
    namespace: 'p',
    uid: 'r',
    resourceVersion: String(version),
    creationTimestamp: '',
  },
})

/** The objects in the stores, and the API server's. */
interface Row {
  readonly name: string
  readonly delivered: readonly [config: KubeObject | null, record: KubeObject | null]
  readonly stored: readonly [config: KubeObject | null, record: KubeObject | null]
  /** The Config that the watch delivers while the response is on its way. */
  readonly meanwhile?: KubeObject
  readonly known: readonly (string | undefined)[]
  readonly isDoubted?: boolean
}

async function outcomeOf({ delivered, stored, meanwhile }: Row) {
  const configs = new Store(fullObject<Config>)
  const configMaps = new Store(platformConfigMap)
  if (delivered[0]) configs.put(delivered[0])
  if (delivered[1]) configMaps.put(delivered[1])
  let isDoubted = false
  const client = {
    get: async (_: unknown, { name }: { readonly name: string }) => {
      if (name === CONFIG && meanwhile) configs.put(meanwhile)
      return name === CONFIG ? stored[0] : stored[1]
    },
  } as unknown as KubeClient
  const relist = (): void => {
    isDoubted = true
  }
  const sources = { configs, configMaps, configName: CONFIG, namespace: 'p' }
  const options = { sources, client, relist }
  const failure = await refreshSettings(options, new AbortController().signal).catch(String)
  const known = [configs.get(CONFIG), configMaps.get(RECORD, 'p')].map(
    (one) => one?.resourceVersion,
  )
  return { known, isDoubted, hasFailed: failure !== undefined }
}

describe('settings are read from the API server besides the watches (10.4)', () => {
  test.each<Row>([
    {
      name: 'the stores are current',
      delivered: [config(5), record(6)],
      stored: [config(5), record(6)],
      known: ['5', '6'],
    },
    {
      name: 'there are no objects',
      delivered: [null, null],
      stored: [null, null],
      known: [undefined, undefined],
    },
    {
      name: 'a change that the watches missed',
      delivered: [config(5), null],
      stored: [config(8), record(7)],
      known: ['8', '7'],
    },
    {
      name: 'a deletion that the watches missed',
      delivered: [config(5), record(6)],
      stored: [null, record(6)],
      known: [undefined, '6'],
    },
    {
      name: 'another object of the same name',
      delivered: [config(5), null],
      stored: [config(8, 'd'), null],
      known: ['8', undefined],
    },
    {
      name: 'a newer watch event wins over the response',
      delivered: [config(5), null],
      stored: [config(5), null],
      meanwhile: config(9),
      known: ['9', undefined],
    },
    {
      name: 'a restored server: the watch relists',
      delivered: [config(5), record(6)],
      stored: [config(3), record(6)],
      known: ['5', '6'],
      isDoubted: true,
    },
  ])('$name', async (row) => {
    const isDoubted = row.isDoubted ?? false
    expect(await outcomeOf(row)).toEqual({ known: row.known, isDoubted, hasFailed: isDoubted })
  })
})
