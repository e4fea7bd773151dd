// The text that `make run` prints once everything is ready.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CLUSTER, type ConnectedCluster } from './connected-cluster.ts'
import type { KeyKubeconfigs } from './key-kubeconfigs.ts'
import type { KeptProgram } from './program.ts'
import type { RunningStore } from './secret-store.ts'
import { configFile } from './virtual-cluster.ts'

/** The parts of `make run` that the text names. */
interface TourParts {
  /** The folder of `make run`. */
  readonly home: string
  /** Number of sample keys, at the first start; null = the data are from an earlier run. */
  readonly samples: number | null
  /** The manifest of a claim. */
  readonly claims: string
  /** null = there is none. */
  readonly store: Pick<RunningStore, 'entryUrl' | 'headerFile'> | null
  readonly kubeconfigs: KeyKubeconfigs
  /** Who can sign in where, with which password; null = no password of a person is known. */
  readonly signingIn: {
    readonly user: string
    readonly passwordFile: string
    /** URL of the gateway. */
    readonly url: string
    readonly caFile: string
  } | null
  readonly connected: Pick<ConnectedCluster, 'kubeconfig' | 'tokenFile' | 'adminKubeconfig'>
  /** The kubeconfig of the direct endpoint. */
  readonly direct: { readonly kubeconfig: string }
  /** The programs with metrics, by their name. */
  readonly metrics: Readonly<Record<string, Pick<KeptProgram, 'metricsUrl'>>>
}

/** The number of keys in the samples. */
export const countSampleKeys = (samples: string): number =>
  readFileSync(join(samples, 'keys.yaml'), 'utf8').match(/^kind: OwnedAccessKey$/gm)?.length ?? 0

/** The text: commands for another terminal, the same at every start, but for keys that are deleted. */
export function tourText(parts: TourParts): string {
  const { home, samples, metrics } = parts
  const state =
    samples === null
      ? 'the control plane as the last run left it, with the operator'
      : `a control plane with the operator and ${samples} sample keys`
  const sections = [
    signedIn(parts.signingIn),
    throughGateway(parts.kubeconfigs),
    claimed(parts),
    pulled(parts),
    toCluster(parts.kubeconfigs),
    straight(parts),
    revoked(parts),
    lockedOut(parts.kubeconfigs),
    synced(parts),
    audited(parts),
  ]
  const urls = Object.entries(metrics).map(
    ([name, { metricsUrl }]) => `  ${name.padEnd(16)} ${metricsUrl() ?? 'not served'}`,
  )
  return `
Ready: ${state}. In another terminal:

  . ${home}/env
  kubectl get oak${samples === null ? '' : '\n  kubectl describe oak one-minute'}
  kubectl explain oak.spec

${sections.filter(Boolean).join('\n')}
Metrics, for as long as each process runs:

${urls.join('\n')}

docs/tour.md goes on from here. Ctrl-C ends it; the data stays in ${home}. To start over: rm -rf ${home}`
}

const signedIn = (account: TourParts['signingIn']): string =>
  section(
    account === null
      ? ''
      : `Signed in as ${account.user}: in a browser at ${account.url}/login, which warns of the certificate, and in a terminal:`,
    account === null
      ? []
      : [
          `cat ${account.passwordFile}`,
          `management-operator login --url ${account.url} --ca-file ${account.caFile}`,
        ],
  )

function throughGateway(kubeconfigs: KeyKubeconfigs): string {
  const { 'laptop-cli': good, 'ci-scoped': scoped } = kubeconfigs
  const commands = [
    good && `kubectl --kubeconfig ${good} auth whoami`,
    scoped && `kubectl --kubeconfig ${scoped} get secrets`,
    good &&
      `(sleep 5; kubectl patch oak laptop-cli --type=merge -p '{"spec":{"disabled":true}}') & kubectl --kubeconfig ${good} get config --watch`,
  ]
  return section(
    'Through the gateway: with a key, with one whose scope says no, and a watch that ends when its key is disabled:',
    commands,
  )
}

const claimed = ({ claims }: TourParts): string =>
  section(
    'A key that a namespace claims: in its Secret, replaced when asked for, and made anew within a minute when somebody deletes that:',
    [
      `kubectl apply --server-side -f ${claims} && kubectl wait --for=condition=Ready akc/deploy -n shop && kubectl get akc -n shop -o wide`,
      'kubectl annotate akc deploy -n shop --overwrite management.platform.sh/rotate="$(date +%s)"; sleep 5; kubectl describe akc deploy -n shop',
      'kubectl delete secret deploy -n shop; kubectl get secrets -n shop --watch',
    ],
  )

const pulled = ({ store }: TourParts): string =>
  section(
    'A Secret that follows the secret store, within ten seconds:',
    store === null
      ? []
      : [
          `curl -s -H @${store.headerFile} -d '{"data":{"user":"ada","password":"another"}}' ${store.entryUrl}`,
          'kubectl get secret database -n p-shop -o yaml; kubectl get events -n p-shop',
          'kubectl describe config platform-manager-config | grep -B4 -A2 SecretStoreReady',
        ],
  )

const toCluster = ({ cluster }: KeyKubeconfigs): string =>
  section(
    'Through the gateway to a connected cluster, and into a pod there, for as long as key ci-deploy is good:',
    cluster === null
      ? []
      : [
          `kubectl --kubeconfig ${cluster} get pods`,
          `kubectl --kubeconfig ${cluster} exec -it web -- sh`,
          'kubectl get events -n platform-system-targets',
        ],
  )

function straight({ kubeconfigs, connected, direct }: TourParts): string {
  const { kubeconfig: stock, tokenFile } = connected
  const tokenOf = (name: string): string =>
    `kubectl get dcet ${name} -o jsonpath='{.status.token}' > ${tokenFile}`
  return section(
    `Straight to that cluster with a token from status.token: through the direct endpoint, and to its stock API server, which
asks the direct endpoint about scopes:`,
    // The tokens are owned by the key of that kubeconfig.
    kubeconfigs.cluster === null
      ? []
      : [
          tokenOf('ci-direct'),
          `kubectl --kubeconfig ${direct.kubeconfig} auth whoami`,
          `kubectl --kubeconfig ${stock} auth whoami`,
          tokenOf('ci-namespaces'),
          `kubectl --kubeconfig ${stock} get namespaces,pods`,
        ],
  )
}

function revoked({ kubeconfigs, connected: { kubeconfig: stock }, direct }: TourParts): string {
  return section(
    'Refused by both after its key was disabled, within six seconds:',
    kubeconfigs.cluster === null
      ? []
      : [
          `kubectl patch oak ci-deploy --type=merge -p '{"spec":{"disabled":true}}'`,
          `SECONDS=0; while kubectl --kubeconfig ${stock} get namespaces >/dev/null 2>&1; do sleep 0.2; done; echo "refused after \${SECONDS}s"`,
          `kubectl --kubeconfig ${direct.kubeconfig} get namespaces`,
        ],
  )
}

const lockedOut = ({ 'ci-scoped': scoped }: KeyKubeconfigs): string =>
  section(
    'Every key of a person ends at once, by one switch:',
    scoped === null
      ? []
      : [
          `kubectl patch user ada --type=merge -p '{"spec":{"disabled":true}}'; sleep 1; kubectl --kubeconfig ${scoped} get secrets`,
        ],
  )

const synced = ({ home, connected: { adminKubeconfig: virtual } }: TourParts): string =>
  section(
    'Endpoints of a virtual cluster, patched on the host; change a patch in vcluster.yaml and watch them follow:',
    [
      `kubectl --kubeconfig ${virtual} get endpoints database -n shop -o yaml`,
      'kubectl get endpoints database-x-shop-x-my-vc -n vcluster-my-vc -o yaml',
      `sed -i 's/"shop-"/"store-"/' ${configFile(home)}; kubectl get endpoints -n vcluster-my-vc -o yaml --watch`,
    ],
  )

const audited = ({ home, kubeconfigs: { observability: asker } }: TourParts): string =>
  section(
    'Who did what with which key, by the audit log: files and data store of the gateway, and what the direct endpoint sent it:',
    [
      `management-operator audit --path ${home}/audit --since 1h`,
      `tail -n 1 ${home}/audit/audit.log`,
      asker &&
        'kubectl create clusterrolebinding auditors --clusterrole=platform-audit-viewer --group=platform:team:observability',
      asker && `kubectl --kubeconfig ${asker} get --raw '/audit/events?code=4xx&limit=1'`,
      asker && `management-operator audit --kubeconfig ${asker} --since 1h --user ada`,
      asker && `management-operator audit --kubeconfig ${asker} --source agent:${CLUSTER}`,
    ],
  )

/** Empty without a command: what it needs is deleted. */
function section(title: string, commands: readonly (string | null)[]): string {
  const lines = commands.filter((line) => line !== null)
  return lines.length === 0 ? '' : `${title}\n\n${lines.map((line) => `  ${line}\n`).join('')}`
}
