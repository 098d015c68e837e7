import type { Runtime } from '@waybill/core'

/** What a start waits for, as a sentence goes on: `cluster default, which is asked for the topics of binding orders`. */
export interface StartWait {
  readonly what: string
  /** What to look at when it does not come. */
  readonly check: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Brokers and databases answer within a second. Later than this somebody looks at the screen and wonders. */
const patienceMs = 3_000

/**
 * Does a part of a start, and says what it waits for once that takes long: then again, each time after twice as long, so
 * that an outage of a night leaves a dozen lines. How it ends is told by whoever waits.
 *
 * @param over nothing more is said once it is aborted, also where the part has no end
 */
export async function logSlowStart<T>(
  { what, check, fields }: StartWait,
  { timers, clock, logger }: Pick<Runtime, 'timers' | 'clock' | 'logger'>,
  part: () => Promise<T>,
  over?: AbortSignal,
): Promise<T> {
  const beganAt = clock.monotonic()
  const sayAfter = (ms: number): Disposable =>
    timers.schedule(ms, () => {
      if (over?.aborted === true) return
      const waitedMs = Math.round(clock.monotonic() - beganAt)
      logger.warn({ ...fields, waitedMs }, `The start waits for ${what}. ${check}`)
      timer = sayAfter(ms * 2)
    })
  let timer = sayAfter(patienceMs)
  try {
    return await part()
  } finally {
    timer[Symbol.dispose]()
  }
}

const brokersAway = 'Check that its brokers run and can be reached from here; the start goes on as soon as they answer'

/** What is known of a binding whose topics are asked for. */
interface Asking {
  readonly label: string
  readonly cluster: string
  readonly resolved: { readonly selection: unknown }
}

/** The topics of bindings are looked at, and those made that are missing. The requests for that have an end. */
export function waitForTopics(bindings: readonly Asking[]): StartWait {
  const seconds = bindings.some(({ resolved }) => resolved.selection instanceof RegExp) ? 10 : 30
  const clusters = [...new Set(bindings.map(({ cluster }) => cluster))]
  const labels = bindings.map(({ label }) => label)
  return {
    what: `cluster ${clusters.join(', ')}, which is asked for the topics of binding ${labels.join(', ')}`,
    check: `${brokersAway}, and is given up after about ${seconds} s`,
    fields: { bindings: labels },
  }
}

/** The members of a binding look for the coordinators of their groups. */
export function waitForGroups(binding: string, cluster: string, groupId: string): StartWait {
  return {
    what: `cluster ${cluster}, where binding ${binding} looks for its group ${groupId}`,
    check: brokersAway,
    fields: { binding },
  }
}

/** A control that several processes share keeps what operators have asked for. */
export function waitForControl(binding: string): StartWait {
  return {
    what: `the connector's control, which is asked whether binding ${binding} is to run`,
    check: 'Check that what it stands on answers; the start goes on as soon as it does',
    fields: { binding },
  }
}
