import { hostname } from 'node:os'
import { runtimeWith } from '@waybill/core'
import { administrationRule, createStandardErrorLogger } from '@waybill/core/internal'
import { durationMs, hasMethods, instance, mapOf, oneOf, optional, resolveOptions, text } from '@waybill/core/option'
import type { KafkaClient } from '@waybill/kafka'
import { runtimeRule } from '@waybill/kafka/internal'
import type { Binding } from '../api/binding.ts'
import type { ConfigCode } from '../api/config-code.ts'
import type { Connector, ConnectorOptions, DerivedTopicsMode } from '../api/connector.ts'
import type { Control } from '../api/control.ts'
import { ConnectorEngine } from './connector-engine.ts'

/** The logger of the default runtime. A runtime in the options has its own. */
const defaultLogger = createStandardErrorLogger('INFO')

const modes: readonly DerivedTopicsMode[] = ['CREATE', 'VERIFY', 'ASSUME']

const isClient = (value: unknown): boolean => hasMethods(value, 'consumer')
const clients = mapOf(instance<KafkaClient>('a KafkaClient, made by createKafkaClient({ brokers })', isClient))

/** Suggests `{ default: kafka }` when a client is passed without a cluster name, which is a common mistake. */
const clustersRule: typeof clients = {
  ...clients,
  expects: 'an object with a KafkaClient for each name: { default: createKafkaClient({ brokers }) }',
  accepts: (value) => clients.accepts(value) && !isClient(value),
  meant: (value) =>
    isClient(value) || (Array.isArray(value) && value.some(isClient)) ? '{ default: kafka }' : undefined,
}

const rules = {
  clusters: clustersRule,
  // The binding rules validate the content.
  bindings: mapOf(
    instance<Binding>('a binding', (value) => typeof value === 'object' && value !== null),
    {
      default: {},
    },
  ),
  derivedTopics: oneOf(modes, {
    default: 'CREATE',
    because: 'a missing topic would otherwise be noticed only with the first failure',
  }),
  instance: optional(text()),
  code: optional(
    instance<ConfigCode>(
      'an object with handlers',
      (value) => typeof (value as ConfigCode | null)?.handlers === 'object',
    ),
  ),
  control: optional(instance<Control>('a Control', (value) => hasMethods(value, 'submit'))),
  administration: administrationRule,
  stallAfterMs: durationMs({
    default: 300_000,
    min: 1,
    because: 'longer than handlers run and brokers fail over, short enough for an alert',
  }),
  runtime: runtimeRule,
}

/**
 * Creates a connector. It does not connect before `start()`.
 * @throws OptionsError with every violation.
 */
export function createConnector(given: ConnectorOptions): Connector {
  const { bindings, code, control, ...options } = resolveOptions('connector', rules, given)
  const runtime = options.runtime ?? runtimeWith({ logger: defaultLogger })
  const engine = new ConnectorEngine({
    ...options,
    runtime,
    instance: options.instance ?? hostname(),
    ...(code === undefined ? {} : { code }),
    ...(control === undefined ? {} : { control }),
  })
  engine.add(bindings)
  return engine
}
