/** For each capability whether it is there, and if not, why. */
export type Capabilities<Capability extends string> = Readonly<Record<Capability, true | { readonly absent: string }>>

/** How a suite gets at what it tests. */
export interface Harness<Subject, Capability extends string> {
  /** What is tested, as titles say it: "Apache Kafka". */
  readonly name: string
  readonly capabilities: Capabilities<Capability>
  /** Hands a subject to one test. What the test leaves behind is the harness's to delete. */
  run(test: (subject: Subject) => Promise<void>): Promise<void>
}
