// Reports of the sign-in process about Login key `ci`, and a key that one changes.
import { CONFIG_MAPS, IDENTITY_REPORT_LABEL } from '../../../../src/api/names.ts'
import type { ConfigMap } from '../../../../src/api/objects.ts'
import {
  type IdentityReport,
  REPORT_DATA_KEY,
  identityReportText,
} from '../../../../src/domain/signin/identity-report.ts'

/** The namespace of the reports. */
export const REPORTS_IN = 'platform-system-sign-in'

/** A ConfigMap with this text. */
export const reportObject = (text: string, name = 'ci'): ConfigMap => ({
  apiVersion: 'v1',
  kind: CONFIG_MAPS.kind,
  metadata: {
    name,
    namespace: REPORTS_IN,
    uid: `uid-report-${name}`,
    resourceVersion: '1',
    creationTimestamp: '2026-11-21T10:00:00Z',
    labels: { [IDENTITY_REPORT_LABEL]: 'true' },
  },
  data: { [REPORT_DATA_KEY]: text },
})

/** The text of a report about key `ci` that says nothing but what is given. */
export const reportText = (differing: Partial<IdentityReport> = {}): string =>
  identityReportText({ keyUid: 'uid-ci', refreshed: null, gone: null, ...differing })
