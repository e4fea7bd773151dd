import { describe, expect, test } from 'vitest'
import type { IdpBProvider } from '../../../../../src/api/config.gen.ts'
import { forgerKey, signed } from '../../../../support/oidc/forged-provider.ts'
import { callbackOf, NO_END, SECRETS } from '../../../../support/oidc/sign-in.ts'
import {
  ADA,
  COMPANY,
  idpB,
  issuerOf,
  PERSONAL,
  signInAtB,
  startIdpB,
  STRANGERS,
} from '../../../../support/providers/idp-b.ts'
import { outcomeOf, parametersAt } from '../../../../support/providers/sign-in.ts'

/** A tenant setting, the tenant whose documents answer, and what these name. */
const SETTINGS = {
  common: { tenant: 'common', named: '{tenantid}' },
  absent: { tenant: undefined, named: '{tenantid}' },
  organizations: { tenant: 'organizations', named: '{tenantid}' },
  consumers: { tenant: 'consumers', named: PERSONAL },
  'consumers, by the placeholder': { tenant: 'consumers', named: '{tenantid}' },
  id: { tenant: COMPANY, named: COMPANY },
  'id in capitals': { tenant: COMPANY.toUpperCase(), named: COMPANY },
  domain: { tenant: 'example.onmicrosoft.com', named: COMPANY },
} as const

const ACCOUNTS = { company: COMPANY, strangers: STRANGERS, personal: PERSONAL }

// biome-ignore format: a table
const ADMITTED: readonly [keyof typeof SETTINGS, readonly (keyof typeof ACCOUNTS)[]][] = [
  ['common',                        ['company', 'strangers', 'personal']],
  ['absent',                        ['company', 'strangers', 'personal']],
  ['organizations',                 ['company', 'strangers']],
  ['consumers',                     ['personal']],
  ['consumers, by the placeholder', ['personal']],
  ['id',                            ['company']],
  ['id in capitals',                ['company']],
  ['domain',                        ['company']],
]

const started = (row: { readonly tenant: string | undefined; readonly named: string }) =>
  startIdpB((row.tenant ?? 'common').toLowerCase(), row.named)

const settingsOf = ({ tenant }: { readonly tenant: string | undefined }): IdpBProvider =>
  tenant === undefined ? {} : { tenant }

describe('setting tenant', () => {
  const rows = ADMITTED.flatMap(([setting, admitted]) =>
    Object.entries(ACCOUNTS).map(([account, tenant]) => {
      const isAdmitted = admitted.some((one) => one === account)
      return { setting, account, tenant, isAdmitted }
    }),
  )
  test.each(rows)('$setting: is $account admitted? $isAdmitted (25.6)', async (row) => {
    const microsoft = await started(SETTINGS[row.setting])
    const found = signInAtB(microsoft, settingsOf(SETTINGS[row.setting]), { tenant: row.tenant })
    const subject = `${issuerOf(microsoft, row.tenant)}#${ADA}`
    expect(await outcomeOf(found)).toMatchObject(
      row.isAdmitted ? { subject, userId: ADA } : { reason: 'domain_refused', detail: 'tenant' },
    )
  })

  test.each<{ setting: keyof typeof SETTINGS; named: string }>([
    { setting: 'common', named: COMPANY },
    { setting: 'organizations', named: COMPANY },
    { setting: 'consumers', named: COMPANY },
    { setting: 'id', named: STRANGERS },
    { setting: 'id', named: '{tenantid}' },
    { setting: 'domain', named: '{tenantid}' },
    { setting: 'domain', named: 'example.onmicrosoft.com' },
  ])('$setting refuses documents of $named (25.6, SB)', async ({ setting, named }) => {
    const microsoft = await started({ ...SETTINGS[setting], named })
    const provider = idpB(microsoft, settingsOf(SETTINGS[setting]))
    await expect(provider.begin(SECRETS, NO_END)).rejects.toMatchObject({
      reason: 'provider_answer',
      because: 'the discovery document names another issuer than tenant',
    })
  })

  test.each(['a/b', '..', 'a b', '{tenantid}', '?x', 'a'.repeat(254)])(
    'may not be %s (25.5)',
    async (tenant) => {
      const provider = idpB(await startIdpB('common'), { tenant })
      await expect(provider.begin(SECRETS, NO_END)).rejects.toMatchObject({
        reason: 'provider_unusable',
      })
    },
  )
})

describe('the issuer of an ID token of Microsoft', () => {
  const base = 'https://login.microsoftonline.com'
  test.each<{ name: string; claims: Readonly<Record<string, unknown>> }>([
    { name: 'is of another tenant than tid', claims: { tid: STRANGERS } },
    { name: 'is another server', claims: { iss: `${base}/${COMPANY}/v2.0` } },
    { name: 'is of version 1', claims: { iss: `https://sts.windows.net/${COMPANY}/` } },
    { name: 'is absent', claims: { iss: undefined } },
  ])('$name: refused (25.6, SB)', async ({ claims }) => {
    for (const setting of ['common', 'id'] as const) {
      const found = signInAtB(await started(SETTINGS[setting]), SETTINGS[setting], claims)
      await expect(found).rejects.toMatchObject({ reason: 'provider_answer' })
    }
  })

  test.each<{ name: string; claims: Readonly<Record<string, unknown>> }>([
    { name: 'the placeholder', claims: { tenant: '{tenantid}' } },
    { name: 'none', claims: { tid: undefined } },
    { name: 'a path', claims: { tid: `../${COMPANY}` } },
    { name: 'a list', claims: { tid: [COMPANY] } },
    { name: 'an id in capitals', claims: { tid: COMPANY.toUpperCase() } },
  ])('is unknown where tid is $name (25.6, SB)', async ({ claims }) => {
    for (const setting of ['common', 'id'] as const) {
      const found = signInAtB(await started(SETTINGS[setting]), SETTINGS[setting], claims)
      await expect(found).rejects.toMatchObject({
        reason: 'provider_answer',
        because: 'no issuer of the provider has such an ID token',
      })
    }
  })

  test('leaves the signature to be checked, by a key that signs for it (25.6, SB)', async () => {
    const microsoft = await startIdpB('common')
    const known = microsoft.forger.keys
    microsoft.forger.keys = known.map((key) => ({ ...key, issuer: issuerOf(microsoft, PERSONAL) }))
    await expect(signInAtB(microsoft)).rejects.toMatchObject({ reason: 'provider_answer' })
    expect(await signInAtB(microsoft, {}, { tenant: PERSONAL })).toMatchObject({ userId: ADA })
    const iss = issuerOf(microsoft, COMPANY)
    const claims = { ...microsoft.forger.claims(SECRETS.nonce), iss, tid: COMPANY, oid: ADA }
    const foreign = await forgerKey('ES256', 'ES256')
    const id_token = await signed(claims, foreign, { alg: 'ES256', kid: 'ES256' })
    microsoft.forger.token = { id_token }
    const forged = idpB(microsoft).finish(callbackOf(), SECRETS, NO_END)
    await expect(forged).rejects.toMatchObject({ reason: 'provider_answer' })
  })

  test('is found with one request for tokens, as a code works once (25.6, SA)', async () => {
    const microsoft = await startIdpB('common')
    await signInAtB(microsoft)
    const { requests } = microsoft.forger
    expect(requests.filter(({ path }) => path === '/token')).toHaveLength(1)
  })

  test.each<{ named: string; isGood: boolean }>([
    { named: COMPANY, isGood: true },
    { named: STRANGERS, isGood: false },
    { named: '{tenantid}', isGood: false },
    { named: 'common', isGood: false },
  ])('is in the callback, too, where that names $named (25.6, SA)', async ({ named, isGood }) => {
    const microsoft = await startIdpB('common')
    const iss = issuerOf(microsoft, named)
    expect(await outcomeOf(signInAtB(microsoft, {}, {}, { iss }))).toMatchObject(
      isGood ? { userId: ADA } : { reason: 'provider_answer' },
    )
  })

  test('is not asked for a token where the callback names another server (25.6, SA)', async () => {
    const microsoft = await startIdpB('common')
    const parameters = { iss: `${base}/${COMPANY}/v2.0` }
    await expect(signInAtB(microsoft, {}, {}, parameters)).rejects.toMatchObject({
      reason: 'provider_answer',
    })
    expect(microsoft.forger.requests.some(({ path }) => path === '/token')).toBe(false)
  })

  test.each<{ name: string; claims: Readonly<Record<string, unknown>> }>([
    { name: 'nonce', claims: { nonce: 'another' } },
    { name: 'aud', claims: { aud: 'another' } },
    { name: 'exp', claims: { exp: 1 } },
    { name: 'azp', claims: { azp: 'another' } },
    { name: 'oid', claims: { oid: undefined } },
    { name: 'oid', claims: { oid: 'ada@example.com' } },
    { name: 'oid', claims: { oid: 'ada#1', tenant: PERSONAL } },
  ])('leaves $name to be checked (25.6, SB)', async ({ claims }) => {
    await expect(signInAtB(await startIdpB('common'), {}, claims)).rejects.toMatchObject({
      reason: 'provider_answer',
    })
  })
})

test('The way to Microsoft has its scopes, and asks for no consent each time (25.6)', async () => {
  const microsoft = await startIdpB('common')
  const provider = idpB(microsoft)
  expect(provider).toMatchObject({
    kind: 'idpB',
    label: `Microsoft (${new URL(microsoft.base).host})`,
  })
  const parameters = await parametersAt(provider)
  expect(parameters['scope']).toBe('openid profile offline_access User.Read GroupMember.Read.All')
  expect(parameters).not.toHaveProperty('prompt')
})

const ADMITS_EVERYBODY = [expect.stringContaining('admits everybody')]

test.each<{ settings: IdpBProvider; warned: boolean }>([
  { settings: {}, warned: true },
  { settings: { tenant: 'common', groups: [] }, warned: true },
  { settings: { tenant: 'organizations' }, warned: true },
  { settings: { tenant: 'consumers' }, warned: true },
  { settings: { tenant: PERSONAL }, warned: true },
  { settings: { tenant: COMPANY }, warned: false },
  { settings: { tenant: 'common', groups: [COMPANY] }, warned: false },
])('SignInReady says whether $settings admits everybody (25.6)', async ({ settings, warned }) => {
  const { tenant = 'common' } = settings
  const microsoft = await startIdpB(
    tenant === PERSONAL ? 'consumers' : tenant,
    tenant === COMPANY ? COMPANY : '{tenantid}',
  )
  expect(await idpB(microsoft, settings).check(NO_END)).toEqual({
    fault: null,
    warnings: warned ? ADMITS_EVERYBODY : [],
  })
})
