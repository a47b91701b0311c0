Bquantized_linearJ€Ð»@u$“AS|,BßáÁ½ÓÁ(PA ä_Ád"äÀ!•È@
Ç@ÇýAŽñ@M¨ñ=¨`A¦´ßA»9áA!ÀKÀ,‡.Á+`oÁ IAX>ÀÀ²ÆÒA"·Q¼j£ÅA$wrBÀ–âÁ¦…I?ìˆ@®áÇAódÂúŒzÁ