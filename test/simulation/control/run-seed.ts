/** Runs one seed, from the first start until the fleet agrees. */

import type { Simulation } from '../simulation.ts'
import { Crew } from '../world/crew.ts'
import { drains, seedRunner } from '../world/run-world.ts'
import { logTopic } from './control-log.ts'
import { Instance, targetOf } from './instance.ts'
import { Operator } from './operator.ts'
import { type ChaosKind, drawProgram } from './program.ts'
import { World } from './world.ts'

/** A promise of the specification: after the last fault, and the last command that an instance still applies. */
const agreeMs = 20_000

/** The longest time of a command that was given before the last fault: of a stop by a process that died. */
const commandMs = 135_000

/** Runs a seed. */
export const runControlSeed: Simulation['run'] = seedRunner({ draw: drawProgram, World, live, mostEvents: 2_000_000 })

async function live(world: World): Promise<void> {
  const { program, court, runtime } = world
  const names = Array.from({ length: program.instances }, (_, at) => `shop-${at}`)
  let processes = 0
  const hire = (name: string): Instance => {
    const one = new Instance(world, name, `${name}.${processes++}`)
    world.instances.push(one)
    return one
  }
  const crew: Crew<Instance, ChaosKind> = new Crew(world, (index) => hire(names[index] ?? world.draw.pick(names)))
  const operator = new Operator(world)
  const operated = operator.run(program.commands)
  await crew.weather(program.instances, (kind, victim) => {
    if (kind === 'KILL' && [...operator.open.values()].includes(victim))
      court.reach('submitter: it dies before its answers')
    befall(world, crew, kind, victim)
  })
  world.isStormy = false
  await operated
  if (world.alive.length === 0) crew.hire()
  const answered = await drains(world, {
    obstacle: () => {
      const open = operator.unanswered()
      if (open.length > 0) return `commands ${open.join()} have no answer`
      // A binding takes its time for each command that waits for it.
      const busy = world.alive.find(({ isApplying }) => isApplying)
      return busy === undefined ? undefined : `${busy.station.process.name} applies a command`
    },
    withinMs: commandMs,
    lookEveryMs: 500,
  })
  if (!answered) return
  const desired = new Map<string, string | undefined>()
  const agreed = await drains(world, {
    obstacle: () => differences(world, desired) ?? world.disagreement(desired),
    withinMs: agreeMs,
    lookEveryMs: 250,
    since: 'the last fault and the last command',
  })
  if (!agreed) return
  operator.checkLog()
  if (world.log.deletedCommands > 0) court.reach('log: an old command is deleted')
  await Promise.all(world.alive.map((one) => one.stop()))
  await runtime.timers.sleep(0)
}

/** Asks the instances what is desired, and returns where they differ. The result of a call is seen by the next. */
function differences(world: World, desired: Map<string, string | undefined>): string | undefined {
  let text: string | undefined
  const asked = world.alive[0]
  if (asked === undefined) return 'no instance'
  for (const binding of world.program.bindings) {
    const known = world.answersOf(binding)
    if (known.size < world.alive.length) text ??= 'instances were not asked yet'
    else if (new Set(known.values()).size > 1) text ??= `${binding} is ${[...known.values()].join(' and ')}`
    else {
      const [wish] = known.values()
      if (desired.get(binding) !== wish || !desired.has(binding)) text ??= `${binding} is newly ${wish}`
      desired.set(binding, wish)
      // An answer may have come since they were asked: then they say something else next time.
      if (!world.log.possible(binding, world.log.end).has(wish))
        text ??= `${binding} is ${wish}, which no command that counts has said`
    }
    world.ask(binding, (one) => one.control.desired(targetOf(binding)))
  }
  return text
}

function befall(world: World, crew: Crew<Instance, ChaosKind>, kind: ChaosKind, victim: Instance): void {
  const { court, draw, program, cluster } = world
  const { trouble } = crew
  const { process } = victim.station
  const replace = (): void => trouble.plan(draw.ms(0, 8_000), () => crew.hire())
  switch (kind) {
    case 'KILL':
      process.kill()
      return replace()
    case 'FREEZE':
      process.freeze()
      return trouble.plan(draw.msOfMagnitude(500, 40_000), () => process.thaw())
    case 'STOP':
      void victim.stop()
      return replace()
    case 'TWIN':
      return crew.hire()
    case 'COMPACT':
      return trouble.attempt(() => {
        cluster.compact(logTopic, 0)
        court.reach('log: it is compacted')
      })
    case 'BROKER':
      return trouble.killBroker(draw.integer(1, program.brokers))
  }
}
