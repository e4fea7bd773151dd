// The roots by which a provider proves who it is, in a file that its settings name (contract 25.6).
import { X509Certificate } from 'node:crypto'
import { SignInRefused } from '../../domain/signin/refusals.ts'
import { readProviderFile } from './files.ts'

/** The setting that names the file. */
interface RootsSetting {
  /** Name of the field, such as `caFile`. */
  readonly field: string
  /** Absent or empty = the roots of the system. */
  readonly path: string | undefined
}

/**
 * The roots that a provider is trusted by, PEM; null = the system's.
 *
 * @param directory of `--files-dir`; null = the flag is absent
 * @throws SignInRefused `provider_unusable` for a file that can't be read, or has no certificate
 */
export async function trustedRoots(
  { field, path }: RootsSetting,
  directory: string | null,
): Promise<{ readonly ca: string | null }> {
  if (!path) return { ca: null }
  const ca = await readProviderFile({ field, path }, directory)
  if (isCertificate(ca)) return { ca }
  const because = `${field} ${path} has no certificate in PEM`
  throw new SignInRefused('provider_unusable', because, { detail: field })
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).publicKey.type === 'public'
  } catch {
    return false
  }
}
