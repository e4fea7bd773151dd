// Checks of the parts that clients see: the gateway's certificate, and the issuer of tokens.
import { fieldsOf, parseJson, stringOf } from '../../domain/json/json.ts'
import { type CheckResult, failureOf, found, missing } from './result.ts'
import type { SendHttps } from '../shared/https.ts'

/** Checks that the gateway answers with a certificate for its address. @param gateway URL without a path */
export async function checkCertificate(gateway: string, send: SendHttps): Promise<CheckResult> {
  try {
    const { status, validTo } = await send(`${gateway}/healthz`)
    if (status !== 200) return missing(`${gateway}/healthz answers ${status}: is this the gateway?`)
    return found(`${gateway} has one until ${new Date(validTo).toISOString()}`)
  } catch (error) {
    return missing(`${gateway} cannot be reached: ${failureOf(error)}`)
  }
}

const DISCOVERY = '/.well-known/openid-configuration'

/** Checks that the issuer serves its documents at its own URL, where verifiers of tokens read them. */
export async function checkIssuer(gateway: string, send: SendHttps): Promise<CheckResult> {
  const { status, body } = await send(`${gateway}/oidc${DISCOVERY}`)
  if (status !== 200)
    return missing(
      `${gateway}/oidc answers ${status}: set --issuer-url, or platformHost of the Config`,
    )
  const issuer = stringOf(documentOf(body)['issuer']) ?? ''
  try {
    const discovery = documentOf((await send(`${issuer}${DISCOVERY}`)).body)
    if (discovery['issuer'] !== issuer)
      return missing(
        `${issuer}${DISCOVERY} names another issuer: does its host lead to the gateway?`,
      )
    const { keys } = documentOf((await send(`${issuer}/keys`)).body)
    if (!Array.isArray(keys) || keys.length === 0)
      return missing(`${issuer}/keys has no signing key: is a manager running?`)
    return found(
      `${issuer} is reached, with ${keys.length} public ${keys.length === 1 ? 'key' : 'keys'}`,
    )
  } catch (error) {
    return missing(`issuer ${JSON.stringify(issuer)} cannot be reached: ${failureOf(error)}`)
  }
}

/** A JSON object; one without fields where the text is anything else. */
export const documentOf = (text: string): Readonly<Record<string, unknown>> =>
  fieldsOf(parseJson(text))
