import { KafkaError, PartialFailureError } from '@waybill/kafka'
import { mayPass } from '@waybill/kafka/internal'

/** Who is told that a start was given up. */
export interface Starter {
  /** As a sentence begins: `The connector`. */
  readonly name: string
  readonly impact: string
  readonly hint: string
}

/** A start of all bindings. */
export const wholeConnector: Starter = {
  name: 'The connector',
  impact: 'No record was read, nothing was committed.',
  hint: 'Start the process again when the brokers answer.',
}

/** A start of one binding, beside others that may run. */
export function oneBinding(label: string): Starter {
  return {
    name: `Binding ${label}`,
    impact: 'It has read no record and committed nothing.',
    hint: 'Try again when the brokers answer.',
  }
}

/**
 * Asks a cluster for what a start needs. That topics could not be described is true where no broker can be reached, and helps
 * nobody: whoever started is told which cluster it was, what is safe and what to do. What a broker has answered stays as it is.
 */
export async function requestForStart<T>(
  cluster: string,
  { name, impact, hint }: Starter,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask()
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

/** What says that nobody has answered, if nothing else is the matter. */
function silenceOf(error: unknown): KafkaError | undefined {
  const errors = error instanceof PartialFailureError ? error.failures.map((one) => one.error) : [error]
  const silences = errors.filter(mayPass).filter(({ reason }) => reason === undefined)
  return silences.length === errors.length ? silences[0] : undefined
}
