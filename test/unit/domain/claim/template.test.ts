import { describe, expect, test } from 'vitest'
import type { AccessKeyClaimSpec } from '../../../../src/api/accesskeyclaim.gen.ts'
import { kubeconfigText } from '../../../../src/commands/kubeconfig/command.ts'
import { claimOf } from '../../../../src/domain/claim/claim.ts'
import {
  MOST_DATA_BYTES,
  type ServerAddress,
  dataBytes,
  needsServer,
  renderData,
  serverUrl,
  templateText,
} from '../../../../src/domain/claim/template.ts'
import { parseYaml } from '../../../../src/runtime/yaml.ts'
import { claimObject } from '../../../support/object-builder.ts'

const PEM = '-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----\n'
const OTHER_PEM = PEM.replace('TUlJ', 'TUlK')
const CA_DATA = Buffer.from(PEM).toString('base64')
const URL_OF_MANAGEMENT = 'https://platform.example.com/kubernetes/management'
const SERVER: ServerAddress = { url: URL_OF_MANAGEMENT, ca: PEM }
const CREDENTIAL = 'pak_abc_XYZ-09.z'

const rendered = (template: string, server: ServerAddress | null = SERVER): string | undefined =>
  renderData(
    { data: { entry: template } },
    { credential: CREDENTIAL, keyID: '0123456789abcdef', expires: '2026-12-21T10:00:00Z', server },
  )['entry']

describe('a template (28.4)', () => {
  // biome-ignore format: a table
  test.each([
    { template: '', text: '' },
    { template: 'no place', text: 'no place' },
    { template: '$(KEY)', text: CREDENTIAL },
    { template: '$(TOKEN)', text: CREDENTIAL },
    { template: '$(KEY)$(KEY)', text: CREDENTIAL + CREDENTIAL },
    { template: '$(KEY_ID) until $(EXPIRES)', text: '0123456789abcdef until 2026-12-21T10:00:00Z' },
    { template: '$(SERVER)', text: URL_OF_MANAGEMENT },
    { template: '$(CA_DATA)', text: CA_DATA },
    { template: '$$(KEY)', text: '$(KEY)' },
    { template: '$$$(KEY)$$', text: `$${CREDENTIAL}$` },
    { template: '$$$$(KEY)', text: '$$(KEY)' },
    { template: 'ü\n$(KEY)\r\n', text: `ü\n${CREDENTIAL}\r\n` },
    { template: '$', text: '$' },
    { template: '$(', text: '$(' },
    { template: '$(key)', text: '$(key)' },
    { template: '$(KEY', text: '$(KEY' },
    { template: '$(HOME)', text: '$(HOME)' },
    { template: '$(constructor)', text: '$(constructor)' },
    { template: '${KEY}', text: '${KEY}' },
    { template: 'machine h\nlogin x\npassword $(KEY)\n', text: `machine h\nlogin x\npassword ${CREDENTIAL}\n` },
  ])('$template', ({ template, text }) => {
    expect(rendered(template)).toBe(text)
  })

  test('is not read again where its value has a place', () => {
    const values = { credential: '$(KEY_ID)$$', keyID: '$(KEY)', expires: '$$', server: null }
    expect(renderData({ data: { a: '$(KEY)|$(KEY_ID)|$(EXPIRES)' } }, values)).toEqual({
      a: '$(KEY_ID)$$|$(KEY)|$$',
    })
  })

  test('renders every entry under its name, also one that objects inherit', () => {
    const data = JSON.parse('{"a": "$(KEY)", "__proto__": "$(KEY_ID)"}') as Record<string, string>
    const values = { credential: 'c', keyID: 'i', expires: '', server: null }
    expect(Object.entries(renderData({ data }, values))).toEqual([
      ['a', 'c'],
      ['__proto__', 'i'],
    ])
  })

  test('is rendered in linear time', () => {
    const startMs = performance.now()
    for (const part of ['$(', '$(A', '$$', '$(KUBECONFI', '$(KEY)'])
      rendered(part.repeat(Math.floor(200_000 / part.length)))
    expect(performance.now() - startMs).toBeLessThan(2000)
  })
})

describe('the address of the gateway (28.4)', () => {
  test.each([
    { target: 'management', url: URL_OF_MANAGEMENT },
    { target: 'cluster/blue', url: 'https://platform.example.com/kubernetes/cluster/blue' },
  ])('names $target', ({ target, url }) => {
    expect(serverUrl('https://platform.example.com', target)).toBe(url)
  })

  const unknown = { credential: 'c', keyID: 'i', expires: 'e', server: null }

  test.each([
    { template: '$(KEY)', text: 'c' },
    { template: '$(CA_DATA)', text: '' },
    { template: '$$(SERVER)', text: '$(SERVER)' },
  ])('is not needed by $template', ({ template, text }) => {
    const data = { a: 'x', b: template }
    expect(needsServer({ data })).toBe(false)
    expect(renderData({ data }, unknown)).toEqual({ a: 'x', b: text })
  })

  test.each(['$(SERVER)', 'x $(KUBECONFIG)'])('is needed by %s', (template) => {
    const data = { a: 'x', b: template }
    expect(needsServer({ data })).toBe(true)
    expect(() => renderData({ data }, unknown)).toThrow("the gateway's address is unknown")
  })

  test.each([
    { name: 'LF', ca: PEM, data: CA_DATA },
    { name: 'CRLF', ca: PEM.replaceAll('\n', '\r\n'), data: CA_DATA },
    { name: 'no last line end', ca: PEM.trimEnd(), data: CA_DATA },
    { name: 'several last line ends', ca: `${PEM}\n\n`, data: CA_DATA },
    { name: 'no authority', ca: null, data: '' },
    { name: 'an empty authority', ca: '\n', data: '' },
  ])('has the authority of a PEM with $name', ({ ca, data }) => {
    expect(rendered('$(CA_DATA)', { ...SERVER, ca })).toBe(data)
  })

  test('is unknown, and the authority too', () => {
    expect(rendered('<$(CA_DATA)>', null)).toBe('<>')
  })
})

describe('$(KUBECONFIG) (28.4)', () => {
  test.each([
    { name: 'an authority', ca: PEM },
    { name: 'an authority with CRLF', ca: PEM.replaceAll('\n', '\r\n') },
    { name: 'no authority', ca: null },
  ])('says the same as `management-operator kubeconfig` with $name', ({ ca }) => {
    const command = kubeconfigText(
      { server: SERVER.url, name: 'platform', ca: ca === null ? null : PEM },
      CREDENTIAL,
    )
    const text = rendered('$(KUBECONFIG)', { ...SERVER, ca }) ?? ''
    expect(parseYaml(text)).toEqual(parseYaml(command))
    expect(text.endsWith('current-context: platform\n')).toBe(true)
  })

  test.each(['1e5', 'null', '0x10', 'true', '1_000', '2026-01-01', '-'])(
    'has the credential %s as a text, whatever YAML takes it for',
    (credential) => {
      const { a = '' } = renderData(
        { data: { a: '$(KUBECONFIG)' } },
        { credential, keyID: '', expires: '', server: SERVER },
      )
      expect(parseYaml(a)).toMatchObject({ users: [{ user: { token: credential } }] })
    },
  )
})

describe('dataBytes (28.4)', () => {
  const values = { credential: CREDENTIAL, keyID: '0'.repeat(16), expires: 'e', server: SERVER }
  // biome-ignore format: a table
  test.each([
    { name: 'no entry', data: {} },
    { name: 'each place', data: { a: '$(KEY)$(KEY_ID)|$(EXPIRES)|$(SERVER)|$(CA_DATA)', b: '$(KUBECONFIG)' } },
    { name: 'texts with characters of several bytes', data: { a: 'ü€🔑$(KEY)$$', b: '$(NOTHING)' } },
  ])('gives the size before it is rendered: $name', ({ data }) => {
    const text = Object.values(renderData({ data }, values)).join('')
    expect(dataBytes({ data }, values)).toBe(Buffer.byteLength(text))
  })

  test('takes little time and memory, however large the Secret would get', () => {
    const entry = '$(KUBECONFIG)'.repeat(630)
    const data = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`e${at}`, entry]))
    const large = { ...values, server: { ...SERVER, ca: PEM.repeat(100) } }
    const [startMs, before] = [performance.now(), process.memoryUsage().rss]
    const claim = claimOf(claimObject({ spec: { secret: { data } } }))
    expect(dataBytes(claim.secret, large)).toBeGreaterThan(50 * MOST_DATA_BYTES)
    expect(templateText(claim, large.server).length).toBeLessThan(MOST_DATA_BYTES)
    expect(performance.now() - startMs).toBeLessThan(1000)
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * MOST_DATA_BYTES)
  })
})

describe('templateText (28.5)', () => {
  const textOf = (spec: AccessKeyClaimSpec, server: ServerAddress | null = SERVER): string =>
    templateText(claimOf(claimObject({ spec })), server)
  const withData = (template: string, more: AccessKeyClaimSpec = {}) => ({
    ...more,
    secret: { data: { a: template }, ...more.secret },
  })
  const blue: ServerAddress = {
    ...SERVER,
    url: 'https://platform.example.com/kubernetes/cluster/b',
  }
  const otherCa: ServerAddress = { ...SERVER, ca: OTHER_PEM }

  // biome-ignore format: a table
  test.each([
    { name: 'an entry has another text', before: textOf(withData('$(KEY)')), now: textOf(withData('$(KEY) ')) },
    { name: 'an entry has another name', before: textOf({ secret: { data: { a: '$(KEY)' } } }), now: textOf({ secret: { data: { b: '$(KEY)' } } }) },
    { name: 'there is one more entry', before: textOf({ secret: { data: { a: '$(KEY)' } } }), now: textOf({ secret: { data: { a: '$(KEY)', b: '' } } }) },
    { name: 'a text moves from one entry to the next', before: textOf({ secret: { data: { a: 'xy', b: '' } } }), now: textOf({ secret: { data: { a: 'x', b: 'y' } } }) },
    { name: 'a place becomes its own text', before: textOf(withData('$(KEY)')), now: textOf(withData('$$(KEY)')) },
    { name: 'the id stands where the credential stood', before: textOf(withData('$(KEY)')), now: textOf(withData('$(KEY_ID)')) },
    { name: 'the end stands where the id stood', before: textOf(withData('$(EXPIRES)')), now: textOf(withData('$(KEY_ID)')) },
    { name: 'a text looks like a place', before: textOf(withData('$(KEY)')), now: textOf(withData('{"place":"credential"}')) },
    { name: 'a token is delivered', before: textOf(withData('$(KUBECONFIG)')), now: textOf(withData('$(KUBECONFIG)', { token: {} })) },
    { name: 'the address changed, and $(SERVER) has it', before: textOf(withData('$(SERVER)')), now: textOf(withData('$(SERVER)'), blue) },
    { name: 'the address changed, and $(KUBECONFIG) has it', before: textOf(withData('$(KUBECONFIG)')), now: textOf(withData('$(KUBECONFIG)'), blue) },
    { name: 'the address became known', before: textOf(withData('$(SERVER)'), null), now: textOf(withData('$(SERVER)')) },
    { name: 'the authority changed, and $(CA_DATA) has it', before: textOf(withData('$(CA_DATA)')), now: textOf(withData('$(CA_DATA)'), otherCa) },
    { name: 'the authority changed, and $(KUBECONFIG) has it', before: textOf(withData('$(KUBECONFIG)')), now: textOf(withData('$(KUBECONFIG)'), otherCa) },
    { name: 'the authority is gone', before: textOf(withData('$(KUBECONFIG)')), now: textOf(withData('$(KUBECONFIG)'), { ...SERVER, ca: null }) },
  ])('differs where $name', ({ before, now }) => {
    expect(now).not.toBe(before)
  })

  // biome-ignore format: a table
  test.each([
    { name: 'labels, annotations and name of the Secret differ', before: textOf(withData('$(KEY)')),
      now: textOf(withData('$(KEY)', { secret: { name: 'x', labels: { a: 'b' }, annotations: { a: 'b' } } })) },
    { name: 'target and address differ that no entry has', before: textOf(withData('$(KEY)$(CA_DATA)')),
      now: textOf(withData('$(KEY)$(CA_DATA)', { secret: { target: 'cluster/b' } }), blue) },
    { name: 'the authority differs that no entry has', before: textOf(withData('$(SERVER)')), now: textOf(withData('$(SERVER)'), otherCa) },
    { name: 'the authority has other line ends', before: textOf(withData('$(KUBECONFIG)')),
      now: textOf(withData('$(KUBECONFIG)'), { ...SERVER, ca: `${PEM.replaceAll('\n', '\r\n')}\n` }) },
    { name: 'the entries come in another order', before: textOf({ secret: { data: { a: '1', b: '2' } } }),
      now: textOf({ secret: { data: { b: '2', a: '1' } } }) },
    { name: 'the default is written out', before: textOf({}), now: textOf({ secret: { data: { key: '$(KEY)' } } }) },
    { name: 'lifetime, scope and identity differ', before: textOf({}),
      now: textOf({ key: { user: 'ada', ttl: 600, scope: { roles: [{ role: 'viewer' }] } } }) },
  ])('is the same where $name', ({ before, now }) => {
    expect(now).toBe(before)
  })
})
