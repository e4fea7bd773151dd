import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { DELIVERY_SETTINGS_SECRET } from '../../../../src/api/secret-store-names.ts'
import type { Secret } from '../../../../src/api/objects.ts'
import { followStoreSettings } from '../../../../src/delivery/store/settings.ts'
import { deliverySecretSettings } from '../../../../src/domain/settings/secret-settings.ts'
import { type FullObject, Store, fullObject } from '../../../../src/kube/informer/store.ts'
import { findCanaries, plantCanary } from '../../../support/canary.ts'
import { t0 } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'

const TOKEN = plantCanary('token of the store')
const ON = { enabled: true, address: 'https://store' }
const textOf = (secretStore: object): string =>
  deliverySecretSettings({ projectNamespacePrefix: 'p-', secretStore }, TOKEN.secret)

function followed(caFile: string | null = null) {
  const secrets = new Store<FullObject<Secret>>(fullObject)
  const { log, lines } = memoryLog('debug')
  const stopping = new AbortController()
  onTestFinished(() => stopping.abort())
  const clock = manualClock(t0)
  let changes = 0
  let version = 0
  const settings = followStoreSettings({
    secrets,
    namespace: 'platform-system',
    environmentAddress: '',
    caFile,
    clock,
    log,
    signal: stopping.signal,
  })
  settings.subscribe(() => {
    changes += 1
  })
  const metadata = () => {
    version += 1
    return {
      name: DELIVERY_SETTINGS_SECRET,
      namespace: 'platform-system',
      uid: 'uid',
      resourceVersion: String(version),
      creationTimestamp: '',
    }
  }
  const write = (text: string): void => {
    const data = { config: Buffer.from(text).toString('base64') }
    secrets.put({ apiVersion: 'v1', kind: 'Secret', metadata: metadata(), data } as never)
  }
  const sync = (): void => {
    secrets.begin()
    secrets.end()
  }
  const remove = (): void =>
    secrets.remove({ apiVersion: 'v1', kind: 'Secret', metadata: metadata() })
  return { settings, clock, lines, write, sync, remove, changes: () => changes }
}

describe('the settings of the store are followed (36.1)', () => {
  test('from off to on, with the token, and off again', () => {
    const { settings, sync, write, changes } = followed()
    sync()
    expect(settings.current()).toBeNull()
    write(textOf(ON))
    expect(settings.current()).toMatchObject({ address: 'https://store', token: TOKEN.secret })
    expect(changes()).toBe(1)
    expect(settings.version()).toBe('1')
    write(textOf(ON))
    expect(changes()).toBe(1)
    expect(settings.version()).toBe('2')
    write(textOf({ ...ON, enabled: false }))
    expect(settings.current()).toBeNull()
    expect(changes()).toBe(2)
  })

  test.each(['', '[]', '{', 'null', '{"secretStore":x'])(
    'what cannot be read leaves them as they were: %j, and no log has the text',
    (text) => {
      const { settings, sync, write, lines, changes } = followed()
      sync()
      write(textOf(ON))
      write(`${text}${text === '' ? '' : ` ${TOKEN.secret}`}`)
      expect(settings.current()?.token).toBe(TOKEN.secret)
      expect(changes()).toBe(1)
      expect(findCanaries({ log: JSON.stringify(lines) }, [TOKEN])).toEqual([])
    },
  )

  test('a Secret that was deleted leaves them as they were', () => {
    const { settings, sync, write, remove } = followed()
    sync()
    write(textOf(ON))
    remove()
    expect(settings.current()?.token).toBe(TOKEN.secret)
  })
})

describe('the authority of the store (36.1)', () => {
  test('the system has it where there is no file', () => {
    expect(followed().settings.ca()).toBeNull()
  })

  test('a missing file trusts nothing, and says so', () => {
    const { settings, lines } = followed('/nonexistent/ca.pem')
    expect(settings.ca()).toBe('')
    expect(lines.map(({ sentence }) => sentence)).toContain(
      'the authority of the secret store is missing',
    )
  })

  test('a file is read, and again when it changes', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'store-ca-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const path = join(directory, 'ca.pem')
    writeFileSync(path, 'one')
    const { settings, clock, changes } = followed(path)
    expect(settings.ca()).toBe('one')
    writeFileSync(path, 'two')
    await clock.advance(120_000)
    expect(settings.ca()).toBe('two')
    expect(changes()).toBeGreaterThan(0)
  })
})
