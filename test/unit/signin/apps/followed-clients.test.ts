import { describe, expect, it } from 'vitest'
import { APP_CLIENT_LABEL } from '../../../../src/api/names.ts'
import { secretData } from '../../../../src/api/objects.ts'
import { followAppClients } from '../../../../src/signin/apps/followed-clients.ts'
import { createSecretStore } from '../../../../src/signin/apps/grants.ts'
import { followSignInSettings } from '../../../../src/signin/settings.ts'
import { SIGN_IN_SETTINGS_SECRET } from '../../../../src/api/names.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { MemoryCluster } from '../../../support/signin/memory-cluster.ts'

const NAMESPACE = 'platform-sign-in'
const CLIENT = { clientId: 'app', clientSecret: 'x', redirectURIs: 'https://app.example/cb' }

function followed() {
  const cluster = new MemoryCluster()
  const secrets = createSecretStore()
  cluster.feed('Secret', secrets)
  const settings = followSignInSettings({
    secrets,
    namespace: NAMESPACE,
    publicUrl: 'https://platform.example',
    createProviders: () => [],
    log: memoryLog().log,
  })
  const clients = followAppClients(secrets, settings)
  let changes = 0
  clients.subscribe(() => {
    changes += 1
  })
  const secret = (name: string, data: Readonly<Record<string, string>>, labels = {}) =>
    cluster.put({
      kind: 'Secret',
      metadata: { name, namespace: NAMESPACE, labels },
      data: secretData(data),
    } as never)
  const configure = (oidc: object) =>
    secret(SIGN_IN_SETTINGS_SECRET, { config: JSON.stringify({ oidc }) })
  const ids = () => [...clients.current().working.keys()]
  return { cluster, clients, secret, configure, ids, changes: () => changes }
}

describe('the apps in force (26.2)', () => {
  it('follow the settings, and are none while apps are off', () => {
    const { secret, configure, ids } = followed()
    secret('app', CLIENT, { [APP_CLIENT_LABEL]: 'true' })
    expect(ids()).toEqual([])
    configure({ enabled: true })
    expect(ids()).toEqual(['app'])
    configure({ enabled: true, clients: [{ clientId: 'other', redirectURIs: [] }] })
    expect(ids()).toEqual(['other', 'app'])
    configure({ enabled: false })
    expect(ids()).toEqual([])
  })

  it('follow Secrets with the label, and tell of their changes alone', () => {
    const { cluster, clients, secret, configure, ids, changes } = followed()
    configure({ enabled: true })
    const before = changes()
    secret('other', CLIENT)
    expect([ids(), changes() - before]).toEqual([[], 0])
    secret('app', CLIENT, { [APP_CLIENT_LABEL]: '' })
    expect([ids(), changes() - before]).toEqual([['app'], 1])
    secret('app', { ...CLIENT, redirectURIs: '' }, { [APP_CLIENT_LABEL]: '' })
    expect([ids(), clients.current().faults]).toEqual([[], ['Secret app: redirectURIs is empty.']])
    secret('app', CLIENT)
    expect(changes() - before).toBe(3)
    cluster.remove('Secret', 'app')
    expect([ids(), clients.current().faults]).toEqual([[], []])
  })
})
