// The Secret of a claim as it is written (contract 28.4).
import {
  ACCESS_KEY_CLAIMS,
  API_VERSION,
  CLAIM_LABEL,
  EXPIRES_ANNOTATION,
  KEY_ID_ANNOTATION,
  SECRETS,
  TEMPLATE_ANNOTATION,
  TOKEN_ANNOTATION,
  apiVersionOf,
} from '../../api/names.ts'
import type { Claim } from '../../domain/claim/claim.ts'
import type { NamedObject } from '../../kube/client/client.ts'

/** What the annotations of the Secret say of the credential in it. */
interface SecretContent {
  readonly keyID: string
  /** Name of the token; null = it has the key itself. */
  readonly token: string | null
  /** RFC 3339. */
  readonly expires: string
  readonly template: string
}

/**
 * The fields of the Secret that are the claim's.
 *
 * @param data in base64
 */
export function claimedSecret(
  { name, namespace, uid, secret }: Claim,
  { keyID, token, expires, template }: SecretContent,
  data: Readonly<Record<string, string>>,
): NamedObject {
  return {
    apiVersion: apiVersionOf(SECRETS),
    kind: SECRETS.kind,
    metadata: {
      name: secret.name,
      namespace,
      labels: { ...secret.labels, [CLAIM_LABEL]: uid },
      annotations: {
        ...secret.annotations,
        [KEY_ID_ANNOTATION]: keyID,
        ...(token === null ? {} : { [TOKEN_ANNOTATION]: token }),
        [EXPIRES_ANNOTATION]: expires,
        [TEMPLATE_ANNOTATION]: template,
      },
      // Without blockOwnerDeletion, which takes a right on the claim that nobody needs here.
      ownerReferences: [
        { apiVersion: API_VERSION, kind: ACCESS_KEY_CLAIMS.kind, name, uid, controller: true },
      ],
    },
    type: secret.type,
    data,
  }
}
