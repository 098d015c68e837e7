import { hasMethods } from '../option/has-methods.ts'
import { resolveOptions } from '../option/resolve-options.ts'
import { instance, mapOf, type Report, text } from '../option/rule.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { runtimeRule } from '../runtime/runtime-rule.ts'
import { createService } from './create-service.ts'
import type { Deadline } from './deadline.ts'
import { LifecycleError, type LifecycleFailure } from './lifecycle-error.ts'
import type { Service } from './service.ts'

/** Something open that is closed in the end: a pool, a client, a server. */
export type Resource = AsyncDisposable | Disposable | { close(): unknown }

/** Options of {@link createSupervisor}. */
export interface SupervisorOptions {
  /** How errors and logs call it. @defaultValue 'supervisor' */
  readonly name?: string
  /** Started in the order in which they are written, stopped in reverse: what another one needs comes first. */
  readonly services: Readonly<Record<string, Service>>
  /**
   * The resources the services use. The supervisor takes them over open and closes them, the last one first, when every service
   * has stopped: also when a start fails, and when start() is never called. Of several ways to close one,
   * `Symbol.asyncDispose` is taken before `close()`, and that before `Symbol.dispose`.
   *
   * @defaultValue none
   */
  readonly resources?: Readonly<Record<string, Resource>>
  /** @defaultValue the system's */
  readonly runtime?: Runtime
}

const rules = {
  name: text({ default: 'supervisor' }),
  services: mapOf(instance<Service>('a service, with start() and stop()', isService)),
  resources: mapOf(
    instance<Resource>('something to close: with Symbol.asyncDispose, close() or Symbol.dispose', isResource),
    { default: {} },
  ),
  runtime: runtimeRule,
}

type Part = readonly [name: string, service: Service]

/**
 * Runs several services as one. It keeps the contract of a {@link Service} itself, so supervisors nest.
 *
 * - When a part fails to start, those before it are stopped and the resources closed; then start() rejects with the
 *   part's own error, or with a {@link LifecycleError} when something could not be stopped either.
 * - A stop goes on past a part that fails, and rejects in the end with a {@link LifecycleError} that names them all.
 * - All share one deadline, and each part may use nine tenths of what is left of it: a part that hangs cannot take
 *   the time of those behind it.
 */
export function createSupervisor(options: SupervisorOptions): Service {
  const { name, services, resources, runtime } = resolveOptions('createSupervisor', rules, options, checkNames)
  const started: readonly Part[] = Object.entries(services)
  const held = Object.entries(resources).map(([key, resource]): Part => [key, holding(key, resource, runtime)])
  const toStop = [...held, ...started].toReversed()

  return createService({
    name,
    runtime,
    holdsFromCreation: true,
    start: (signal) => startAll(started, signal, runtime),
    stop: (deadline) => stopAll(name, toStop, deadline),
    running: () => toStop.filter(([, service]) => !hasEnded(service)).map(([part]) => part),
  })
}

async function startAll(parts: readonly Part[], signal: AbortSignal, { logger }: Runtime): Promise<void> {
  const cancelled = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  for (const [part, service] of parts) {
    if (signal.aborted) return
    // Called inside a function of its own: a user's start that throws at once fails like one that rejects.
    const starting = (async () => service.start())()
    starting.catch((err: unknown) => {
      if (signal.aborted) logger.info({ part, err }, 'Part was stopped while it started')
      else logger.error({ part, err }, 'Part did not start')
    })
    // Not waited for when cancelled: the stop that follows ends this start together with its part.
    await Promise.race([starting, cancelled])
  }
}

async function stopAll(name: string, parts: readonly Part[], deadline: Deadline): Promise<void> {
  const failures: LifecycleFailure[] = []
  // When time runs out early (a second, shorter stop), the parts hear of it too.
  deadline.signal.addEventListener('abort', () => hurry(parts), { once: true })
  for (const [part, service] of parts) {
    try {
      await service.stop({ deadlineMs: shareOf(deadline.remainingMs()) })
    } catch (error) {
      failures.push({ during: `stop of ${part}`, error })
    }
  }
  if (failures.length > 0) throw new LifecycleError(name, failures)
}

/** Nine tenths: the next part has a tenth, the one after it a hundredth, and no part ends later than the whole. */
function shareOf(remainingMs: number): number {
  return Math.floor(remainingMs * 0.9)
}

/** Each part's failure is reported by the loop that stops them in turn. */
function hurry(parts: readonly Part[]): void {
  for (const [, service] of parts) (async () => service.stop({ deadlineMs: 0 }))().catch(() => {})
}

function holding(name: string, resource: Resource, runtime: Runtime): Service {
  const way = wayToClose(resource)
  const stop = async (): Promise<void> => {
    if (way !== undefined) await (resource as Record<PropertyKey, () => unknown>)[way]?.()
  }
  return createService({ name, runtime, holdsFromCreation: true, start: () => {}, stop })
}

/** Prefers asynchronous disposal. */
function wayToClose(value: unknown): PropertyKey | undefined {
  return [Symbol.asyncDispose, 'close', Symbol.dispose].find((way) => hasMethods(value, way))
}

function hasEnded({ state }: Service): boolean {
  return state === 'STOPPED' || state === 'FAILED'
}

function isService(value: unknown): boolean {
  return hasMethods(value, 'start', 'stop')
}

function isResource(value: unknown): boolean {
  return wayToClose(value) !== undefined
}

/** JavaScript sorts keys that are whole numbers first, and order is what a supervisor is about. */
function checkNames(
  { services, resources }: { readonly services: object; readonly resources: object },
  report: Report,
): void {
  for (const name of [...Object.keys(services), ...Object.keys(resources)])
    if (/^\d+$/.test(name)) report(name, 'is a number, which would not keep its place in the order; use a word')
  for (const name of Object.keys(services)) if (name in resources) report(name, 'names both a service and a resource')
}
