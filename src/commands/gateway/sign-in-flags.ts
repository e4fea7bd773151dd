// The flags by which the gateway passes requests on to the sign-in process (contract 25.1).
import { type Flag, type ValuesOf, fileValue } from '../../runtime/flags.ts'
import { SIGN_IN_NAMESPACE_FLAG, originValue, signInNamespaceIn } from '../shared/flags.ts'

/** The checked settings of these flags. */
export interface SignInFlagSettings {
  /** Scheme, host and port. */
  readonly origin: string
  /** Path; null = the authority is in a ConfigMap of `namespace`. */
  readonly caFile: string | null
  /** Path. */
  readonly tokenFile: string
  /** The sign-in namespace. */
  readonly namespace: string
}

/** Flags of the way to the sign-in process. */
export const SIGN_IN_FLAGS = {
  'sign-in-url': {
    value: originValue,
    fallback: '',
    shownDefault: 'none: there is no signing in',
    help: 'URL of the sign-in process, which gets the requests to /login, /auth/ and /oidc/apps/.',
  },
  'sign-in-ca-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'ConfigMap platform-sign-in-ca of the sign-in namespace',
    help: 'Path to the PEM file with the authority of its certificate; reloaded when it changes.',
  },
  'sign-in-token-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'none; needed with --sign-in-url',
    help: 'Path to the file with the token of this gateway, of audience sign-in; reloaded when it changes.',
  },
  ...SIGN_IN_NAMESPACE_FLAG,
} satisfies Readonly<Record<string, Flag<unknown>>>

type SignInUrlValues = ValuesOf<typeof SIGN_IN_FLAGS>

/** The settings; null = without a URL there are none. */
export function signInSettings(
  values: SignInUrlValues,
  namespace: string,
): SignInFlagSettings | null {
  const { 'sign-in-url': origin, 'sign-in-token-file': tokenFile } = values
  if (origin === null || tokenFile === null) return null
  const caFile = values['sign-in-ca-file']
  return { origin, caFile, tokenFile, namespace: signInNamespaceIn(values, namespace) }
}

/** Faults between the flags. */
export const signInFaults = (values: Partial<SignInUrlValues>): readonly string[] =>
  values['sign-in-url'] && values['sign-in-token-file'] === null
    ? [
        '--sign-in-url needs --sign-in-token-file: the sign-in process takes requests of the gateway alone',
      ]
    : []
