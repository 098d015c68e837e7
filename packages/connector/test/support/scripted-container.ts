import type { PauseReason } from '../../src/api/pause-reason.ts'
import type { ContainerHandle } from '../../src/group/binding-containers.ts'
import type { ContainerDeps } from '../../src/group/container-deps.ts'
import type { ContainerFactory } from '../../src/run/binding-run.ts'

/** A container that does nothing but what a test says, and keeps what was asked of it. */
export class ScriptedContainer implements ContainerHandle {
  readonly deps: ContainerDeps
  readonly asked: string[]
  readonly #starting: (() => Promise<void>) | undefined
  readonly #pausedBy = new Set<PauseReason>()

  constructor(deps: ContainerDeps, asked: string[], starting?: () => Promise<void>) {
    this.deps = deps
    this.asked = asked
    this.#starting = starting
  }

  get place(): ContainerHandle['place'] {
    return this.deps.place
  }

  get #name(): string {
    return this.deps.place.name.replace('eventbus-', '')
  }

  async start(): Promise<void> {
    this.asked.push(`start ${this.#name}`)
    await this.#starting?.()
  }

  async stop({ leave }: { readonly deadlineMs: number; readonly leave?: boolean }): Promise<void> {
    this.asked.push(`stop ${this.#name}${leave === true ? ' and leave' : ''}`)
  }

  pause(reason: PauseReason): void {
    this.#pausedBy.add(reason)
    this.asked.push(`pause ${this.#name} ${reason}`)
  }

  resume(reason: PauseReason): void {
    if (this.#pausedBy.delete(reason)) this.asked.push(`resume ${this.#name} ${reason}`)
  }

  condemn(): boolean {
    return false
  }

  status(): ReturnType<ContainerHandle['status']> {
    return { place: this.deps.place, pausedBy: [...this.#pausedBy], members: [] }
  }
}

/** Makes scripted containers; `starting` says for a place's name how its start ends. */
export function scriptedContainers(starting: Readonly<Record<string, () => Promise<void>>> = {}): {
  readonly asked: string[]
  readonly made: ScriptedContainer[]
  readonly create: ContainerFactory
} {
  const asked: string[] = []
  const made: ScriptedContainer[] = []
  const create: ContainerFactory = (deps) => {
    const container = new ScriptedContainer(deps, asked, starting[deps.place.name.replace('eventbus-', '')])
    made.push(container)
    return container
  }
  return { asked, made, create }
}
