import type { Control } from '@waybill/connector'
import type { Capabilities, Harness } from '../suite/harness.ts'

/**
 * What not every control can do.
 *
 * - FLEET: a command reaches the instances of other processes too.
 */
export type ControlCapability = 'FLEET'

/** For each capability whether it is there, and if not, why. */
export type ControlCapabilities = Capabilities<ControlCapability>

/** Controls that nobody has joined and nobody has commanded yet, for one test. */
export interface ControlUnderTest {
  readonly control: Control
  /** With FLEET: that of another process of the same fleet. */
  readonly other: Control | null
}

/** How the suite gets at a control. */
export type ControlHarness = Harness<ControlUnderTest, ControlCapability>
