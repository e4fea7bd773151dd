// Ports of Services on both sides, and their node ports (contract 18.4).
import { nestedString } from '../../domain/json/field-path.ts'
import { isList, isMap, type Json, type JsonMap, ownValue } from '../../domain/json/json.ts'

/** The ports of a Service's spec; null for an entry that is not an object. */
export function portsOf(spec: JsonMap): readonly (JsonMap | null)[] {
  const ports = ownValue(spec, 'ports')
  return isList(ports) ? ports.map((port) => (isMap(port) ? port : null)) : []
}

/**
 * The other side's node port of each port; null = none. Ports are the same with the same name and protocol, else with
 * the same number and protocol; each of the other side counts once, so that no node port is taken twice.
 */
export function pairedNodePorts(
  ports: readonly (JsonMap | null)[],
  others: readonly (JsonMap | null)[],
): readonly (number | null)[] {
  const known = others.filter((other) => other !== null)
  const byName = ports.map((port) => port && (known.find((one) => hasSameName(port, one)) ?? null))
  return ports.map((port, at) => {
    const named = byName[at] ?? null
    if (named !== null || port === null) return nodePortOf(named)
    const left = known.filter((one) => !byName.includes(one))
    return nodePortOf(left.find((one) => hasSameNumber(port, one)) ?? null)
  })
}

function nodePortOf(port: JsonMap | null): number | null {
  const number = port && ownValue(port, 'nodePort')
  return typeof number === 'number' && number !== 0 ? number : null
}

const hasSameName = (a: JsonMap, b: JsonMap): boolean =>
  nestedString(a, ['name']) === nestedString(b, ['name']) && hasSameProtocol(a, b)

const hasSameNumber = (a: JsonMap, b: JsonMap): boolean =>
  ownValue(a, 'port') === ownValue(b, 'port') && hasSameProtocol(a, b)

const hasSameProtocol = (a: JsonMap, b: JsonMap): boolean => protocolOf(a) === protocolOf(b)

const protocolOf = (port: JsonMap): Json => ownValue(port, 'protocol') ?? 'TCP'
