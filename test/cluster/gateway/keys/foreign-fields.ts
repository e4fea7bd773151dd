// Writes that are no self-service: the refusal names the field, not a right that self-service does not need (contract 12.1).
import { describe, expect, test } from 'vitest'
import { API_VERSION } from '../../../../src/api/names.ts'
import { uniqueName } from '../../../support/object-builder.ts'
import { APPLY_PATCH, type SelfServiceSetup } from './self-service-gateway.ts'

/** Declares the tests of keys that are no self-service. */
export function testForeignFields(setup: SelfServiceSetup): void {
  const { callers, createKey } = setup
  describe('a field that self-service never writes (12.1)', () => {
    test.each([
      { by: 'login', spec: { team: 'ops' }, field: 'spec.team' },
      { by: 'login', spec: { subject: 'robot' }, field: 'spec.subject' },
      { by: 'login', spec: { user: 'bob' }, field: 'spec.user' },
      { by: 'login', spec: { type: 'Login' }, field: 'spec.type' },
      { by: 'login', spec: { type: 'Workspace' }, field: 'spec.type' },
      { by: 'login', spec: { key: `sha256:${'4'.repeat(64)}` }, field: 'spec.key' },
      { by: 'userKey', spec: { team: 'ops' }, field: 'spec.team' },
      { by: 'scoped', spec: { user: 'bob' }, field: 'spec.user' },
    ] as const)(
      'by $by with $spec is refused with the field, and no word of a right that self-service needs none of (12.1)',
      async ({ by, spec, field }) => {
        const name = uniqueName('other')
        const apply = { apiVersion: API_VERSION, kind: 'OwnedAccessKey', spec }
        const path = `ownedaccesskeys/${name}?fieldManager=caller`
        const answers = [
          await createKey(by, spec),
          await callers[by].ask('PATCH', path, { type: APPLY_PATCH, body: apply }),
        ]
        for (const { code, json } of answers) {
          expect({ code, field: json.message?.split(':')[0] }).toEqual({ code: 403, field })
          expect(json.message).not.toContain('cannot create resource')
        }
      },
    )

    test('a digest in an own key is refused with its field where RBAC opens no change (12.1)', async () => {
      const { name } = (await createKey('login')).json.metadata
      const body = { spec: { key: `sha256:${'5'.repeat(64)}` } }
      const { code, json } = await callers.login.ask('PATCH', `ownedaccesskeys/${name}`, { body })
      expect({ code, field: json.message?.split(':')[0] }).toEqual({ code: 403, field: 'spec.key' })
    })
  })
}
