import type { ClientObserver } from '../../kube/transport.ts'
import type { UpstreamObserver } from '../../kube/upstream.ts'

/**
 * What callers are answered is counted as theirs, and so is an answer that never comes. As this process's
 * own count its own requests, and that its credential, or its acting for others, is refused. The date of an
 * answer may be that of a pod behind a proxy: nobody's clock is measured by it.
 */
export const ofForwarded = (observer: Pick<ClientObserver, 'responded'>): UpstreamObserver => ({
  responded: ({ method, impersonation, isProxied = false }, code) => {
    if (impersonation === null || (code === '401' && !isProxied))
      observer.responded(method, code, null)
  },
})
