import { KafkaError, PartialFailureError } from '@waybill/kafka'
import { mayPass } from '@waybill/kafka/internal'

/** The texts of a failed start: of the whole connector, or of one binding. */
export interface Starter {
  /** The subject of the message: `The connector`. */
  readonly name: string
  readonly impact: string
  readonly hint: string
}

/** The texts for a start of all bindings. */
export const wholeConnector: Starter = {
  name: 'The connector',
  impact: 'No record was read, nothing was committed.',
  hint: 'Restart the process when the brokers answer.',
}

/** Returns the texts for a start of one binding. */
export function oneBinding(label: string): Starter {
  return {
    name: `Binding ${label}`,
    impact: 'It has read no record and committed nothing.',
    hint: 'Retry when the brokers answer.',
  }
}

/**
 * Sends a request of a start. When no broker is reachable, the error names the cluster, the impact and what to do,
 * instead of the failed request. An error that a broker answered is rethrown unchanged.
 */
export async function requestForStart<T>(
  cluster: string,
  { name, impact, hint }: Starter,
  request: () => Promise<T>,
): Promise<T> {
  try {
    return await request()
  } catch (cause) {
    const silence = silenceOf(cause)
    if (silence === undefined) throw cause
    const why = silence.happened.replace(/\.$/, '')
    throw new KafkaError(`${name} did not start: cluster ${cluster} does not answer (${why}).`, 'RETRIABLE', {
      cause,
      impact,
      hint,
    })
  }
}

/** Returns the error of an unreachable cluster, unless another error is among the failures. */
function silenceOf(error: unknown): KafkaError | undefined {
  const errors = error instanceof PartialFailureError ? error.failures.map((one) => one.error) : [error]
  const silences = errors.filter(mayPass).filter(({ reason }) => reason === undefined)
  return silences.length === errors.length ? silences[0] : undefined
}
