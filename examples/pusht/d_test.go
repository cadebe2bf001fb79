package main
import ("testing";"fmt")
func TestD(t *testing.T){
 e:=newEnv(state{355.9946093719329, 252.35752789732993, 182.41362912597071, 384.5009332792359, -0.18281073098612843})
 target:=vec{166.26235288491085, 408.07939289258223}
 for k:=range 30 {
		v := e.agent.motion.v
		e.agent.motion.v = v.add(target.sub(e.agent.p).times(100).sub(v.times(20)).times(stepTime))
		e.space.advance()
		if k>=15 { fmt.Println(show(e.space.moving)); s:=e.state(); fmt.Printf("%d %.9f %.9f | %.12f %.12f %.12f\n",k,s[0],s[1],s[2],s[3],s[4]); for _,t:=range e.space.active { for _,c:=range t.contacts { a,b:=c.r1.add(t.a.p),c.r2.add(t.b.p); fmt.Printf("   n %.12f %.12f A %.6f %.6f B %.6f %.6f d %.9f\n",t.n.x,t.n.y,a.x,a.y,b.x,b.y,b.sub(a).dot(t.n))}}}
 }
}

func show(n *node) string { if n.shape!=nil { if len(n.shape.corners)==1 {return fmt.Sprint("C",n.step)}; if n.shape.local[0].y==0 {return fmt.Sprint("P1.",n.step)}; return fmt.Sprint("P2.",n.step)}; return "("+show(n.a)+" "+show(n.b)+")" }
