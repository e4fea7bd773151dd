import type { ClientObserver } from '../../kube/transport.ts'
import type { UpstreamObserver } from '../../kube/upstream.ts'

/**
 * Responses to forwarded requests count as the caller's, a missing response too. rest_client_requests_total
 * counts the gateway's own requests, and a 401 for its own credential. The Date header may be that of a pod
 * behind the API server's proxy, so it measures no clock.
 */
export const ofForwarded = (observer: Pick<ClientObserver, 'responded'>): UpstreamObserver => ({
  responded: ({ method, impersonation, isProxied = false }, code) => {
    if (impersonation === null || (code === '401' && !isProxied))
      observer.responded(method, code, null)
  },
})
