import { describe, expect, it } from 'vitest'
import type { OidcServer } from '../../../../src/api/config.gen.ts'
import { APP_CLIENT_LABEL } from '../../../../src/api/names.ts'
import { type Secret, secretData } from '../../../../src/api/objects.ts'
import { appClientsOf, declaresClient, isSecretOf } from '../../../../src/signin/apps/clients.ts'

const URI = 'https://app.example/cb'
const APP = { name: 'App', clientId: 'app', clientSecret: 'a secret', redirectURIs: [URI] }
const secretOf = (name: string, texts: Readonly<Record<string, string>>): Secret =>
  ({
    metadata: { name, labels: { [APP_CLIENT_LABEL]: 'true' } },
    data: secretData(texts),
  }) as unknown as Secret
const TEXTS = { name: 'App', clientId: 'app', clientSecret: 'a secret', redirectURIs: URI }

const workingOf = (oidc: OidcServer, ...secrets: readonly Secret[]): readonly string[] => [
  ...appClientsOf(oidc, secrets).working.keys(),
]

describe('the apps that work (26.2)', () => {
  it('come from the settings and from Secrets', () => {
    const found = appClientsOf({ clients: [APP] }, [
      secretOf('other', { ...TEXTS, clientId: 'other', redirectURIs: `${URI}\n\n${URI}/2 \r\n` }),
    ])
    expect(found.faults).toEqual([])
    expect(found.working.get('other')).toMatchObject({
      isPublic: false,
      redirectUris: [URI, `${URI}/2`],
    })
    const app = found.working.get('app')
    expect(app && ['a secret', 'a secrets', ''].map((sent) => isSecretOf(app, sent))).toEqual([
      true,
      false,
      false,
    ])
  })

  it('without a secret are public, and no secret is theirs', () => {
    const { clientSecret: _, ...texts } = TEXTS
    const app = appClientsOf({}, [secretOf('app', texts)]).working.get('app')
    expect(app?.isPublic).toBe(true)
    expect(app && isSecretOf(app, '')).toBe(false)
  })

  it('take the end of a line from a Secret, as files have one', () => {
    const secret = secretOf('app', { ...TEXTS, clientId: 'app\n', clientSecret: 'a secret\n' })
    const app = appClientsOf({}, [secret]).working.get('app')
    expect(app && isSecretOf(app, 'a secret')).toBe(true)
  })

  it('are none of two with one clientId, wherever they are declared', () => {
    const other = { ...APP, clientId: 'other' }
    const found = appClientsOf({ clients: [APP, other] }, [
      secretOf('b', { ...TEXTS, clientId: 'third' }),
      secretOf('a', TEXTS),
    ])
    expect([...found.working.keys()]).toEqual(['other', 'third'])
    expect(found.faults).toEqual([
      'oidc.clients[0]: has the clientId of Secret a, so neither works.',
      'Secret a: has the clientId of oidc.clients[0], so neither works.',
    ])
  })

  it('take * as a whole entry where wildcardRedirect says so, and in no other', () => {
    const any = { ...APP, redirectURIs: ['*'] }
    expect(workingOf({ clients: [any], wildcardRedirect: true })).toEqual(['app'])
    expect(workingOf({ clients: [any] })).toEqual([])
    expect(workingOf({ clients: [any], wildcardRedirect: false })).toEqual([])
    const part = { ...APP, redirectURIs: ['https://*.example/cb'] }
    expect(workingOf({ clients: [part], wildcardRedirect: true })).toEqual([])
  })

  it.each([
    ['no id', { clientId: '' }, 'clientId must be 1 to 128 visible ASCII characters'],
    ['a long id', { clientId: 'a'.repeat(129) }, 'clientId must be'],
    ['an id with spaces', { clientId: 'a b' }, 'clientId must be'],
    ['an empty secret', { clientSecret: '' }, 'clientSecret must be'],
    ['a long secret', { clientSecret: 'a'.repeat(513) }, 'clientSecret must be'],
    ['no address', { redirectURIs: '' }, 'redirectURIs is empty'],
    ['a wrong address', { redirectURIs: `${URI}\nhttp://app.example` }, 'redirectURIs[1] must be'],
    ['*', { redirectURIs: '*' }, 'redirectURIs[0] is *'],
    ['another key', { clientsecret: 'a secret' }, 'has data key clientsecret, which is none of'],
    ['51 addresses', { redirectURIs: `${URI}\n`.repeat(51) }, 'redirectURIs has more than 50'],
  ])(
    'are none with %s, which a sentence says by the name of the Secret alone',
    (_, texts, says) => {
      const found = appClientsOf({}, [secretOf('app-secret', { ...TEXTS, ...texts })])
      expect(found.working.size).toBe(0)
      expect(found.faults).toEqual([expect.stringContaining(`Secret app-secret: ${says}`)])
      expect(found.faults.join()).not.toContain('example')
    },
  )

  it('are named in the same order by every replica, however it got the Secrets', () => {
    const wrong = ['c', 'a', 'b'].map((name) => secretOf(name, { ...TEXTS, clientId: '' }))
    const places = appClientsOf({}, wrong).faults.map((fault) => fault.split(':', 1)[0])
    expect(places).toEqual(['Secret a', 'Secret b', 'Secret c'])
  })

  it('are declared by the label, whatever its value', () => {
    expect(declaresClient(secretOf('a', {}))).toBe(true)
    expect(declaresClient({ metadata: { name: 'a', labels: {} } } as Secret)).toBe(false)
  })
})
